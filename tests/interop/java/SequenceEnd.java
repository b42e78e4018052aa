// SPDX-License-Identifier: Apache-2.0
import java.io.File;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;

/** SequenceEnd FOLDER PATH NUMBER: in the data of a server that is not running, the next sequential child of PATH has this number. */
public final class SequenceEnd {
  public static void main(String[] words) throws Exception {
    FileTxnSnapLog files = new FileTxnSnapLog(new File(words[0]), new File(words[0]));
    DataTree tree = new DataTree();
    Map<Long, Integer> sessions = new ConcurrentHashMap<>();
    files.restore(tree, sessions, (header, record, digest) -> {});
    tree.getNode(words[1]).stat.setCversion(Integer.parseInt(words[2]));
    files.save(tree, (ConcurrentHashMap<Long, Integer>) sessions, true);
    files.close();
  }
}
