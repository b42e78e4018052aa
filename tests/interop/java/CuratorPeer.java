// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.RetryOneTime;

/**
 * A client of Curator's locks for tests: CuratorPeer ADDRESS SESSION-MS. Reads commands and answers each with one line:
 *
 * <pre>
 * take NAME FAMILY PATH[,PATH] MS   "held NAME", or "busy NAME" when MS have passed; a family is one of make()
 * free NAME                         "free NAME"
 * holds NAME                        what the library believes: "true", "false"
 * revocable NAME PATH MS            takes a mutex that gives itself up when somebody asks for it
 * crash                             ends without closing the session
 * crowd FAMILY PATH COUNT ROUNDS    COUNT clients of their own take it ROUNDS times each; each hold is a section in the file
 *                                   "history" (see tests/verify/verify.cpp); "done" when all of them are
 * </pre>
 */
public final class CuratorPeer {
  private static String address;
  private static int sessionMs;

  private final CuratorFramework client = connected();
  private final Map<String, InterProcessLock> locks = new HashMap<>();

  private static CuratorFramework connected() {
    CuratorFramework client =
        CuratorFrameworkFactory.newClient(address, sessionMs, 5000, new RetryOneTime(200));
    client.start();
    return client;
  }

  private static InterProcessLock make(CuratorFramework client, String family, String path) {
    String[] words = family.split(":");
    switch (words[0]) {
      case "mutex":
        return new InterProcessMutex(client, path);
      case "semaphore-mutex":
        return new InterProcessSemaphoreMutex(client, path);
      case "semaphore":
        return new Semaphore(new InterProcessSemaphoreV2(client, path, Integer.parseInt(words[1])));
      case "read":
        return new InterProcessReadWriteLock(client, path).readLock();
      case "write":
        return new InterProcessReadWriteLock(client, path).writeLock();
      case "multi":
        return new InterProcessMultiLock(client, List.of(path.split(",")));
      default:
        throw new IllegalArgumentException("no family " + family);
    }
  }

  /** A lease of a semaphore with the words of a lock. */
  private static final class Semaphore implements InterProcessLock {
    private final InterProcessSemaphoreV2 semaphore;
    private Lease lease;

    Semaphore(InterProcessSemaphoreV2 semaphore) {
      this.semaphore = semaphore;
    }

    @Override
    public void acquire() throws Exception {
      lease = semaphore.acquire();
    }

    @Override
    public boolean acquire(long time, TimeUnit unit) throws Exception {
      lease = semaphore.acquire(time, unit);
      return lease != null;
    }

    @Override
    public void release() {
      semaphore.returnLease(lease);
      lease = null;
    }

    @Override
    public boolean isAcquiredInThisProcess() {
      return lease != null;
    }
  }

  private String take(String name, InterProcessLock lock, int ms) throws Exception {
    if (!lock.acquire(ms, TimeUnit.MILLISECONDS)) {
      return "busy " + name;
    }
    locks.put(name, lock);
    return "held " + name;
  }

  private String takeRevocable(String name, String path, int ms) throws Exception {
    InterProcessMutex mutex = new InterProcessMutex(client, path);
    mutex.makeRevocable(
        asked -> {
          System.out.println("revoked " + name);
          System.out.flush();
        });
    return take(name, mutex, ms);
  }

  private String obey(String[] words) throws Exception {
    switch (words[0]) {
      case "take":
        return take(words[1], make(client, words[2], words[3]), Integer.parseInt(words[4]));
      case "revocable":
        return takeRevocable(words[1], words[2], Integer.parseInt(words[3]));
      case "free":
        locks.remove(words[1]).release();
        return "free " + words[1];
      case "holds":
        return String.valueOf(locks.get(words[1]).isAcquiredInThisProcess());
      case "crash":
        Runtime.getRuntime().halt(9);
        return "";
      case "crowd":
        crowd(words[1], words[2], Integer.parseInt(words[3]), Integer.parseInt(words[4]));
        return "done";
      default:
        return "what?";
    }
  }

  // --- many at once ---------------------------------------------------------------------------------------------------

  private static void act(String section, String what) throws IOException {
    // One write at the end of the file, so that the order of lines is the order of acts.
    try (FileOutputStream history = new FileOutputStream("history", true)) {
      String line = System.nanoTime() + " " + section + " " + what + "\n";
      history.write(line.getBytes(StandardCharsets.US_ASCII));
    }
  }

  private static void member(String family, String path, int number, int rounds) {
    try (CuratorFramework own = connected()) {
      InterProcessLock lock = make(own, family, path);
      for (int round = 1; round <= rounds; ++round) {
        lock.acquire();
        String section = "curator-" + family + number + "." + round;
        act(section, "BEGIN -");
        Thread.sleep(15);
        act(section, "END");
        lock.release();
      }
    } catch (Exception failure) {
      failure.printStackTrace();
      Runtime.getRuntime().halt(1);
    }
  }

  private static void crowd(String family, String path, int count, int rounds) throws Exception {
    List<Thread> members = new ArrayList<>();
    for (int i = 1; i <= count; ++i) {
      int number = i;
      members.add(new Thread(() -> member(family, path, number, rounds)));
    }
    for (Thread member : members) {
      member.start();
    }
    for (Thread member : members) {
      member.join();
    }
  }

  public static void main(String[] words) throws Exception {
    address = words[0];
    sessionMs = Integer.parseInt(words[1]);
    CuratorPeer peer = new CuratorPeer();
    BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
    for (String line = commands.readLine(); line != null; line = commands.readLine()) {
      String answer;
      try {
        answer = peer.obey(line.split(" "));
      } catch (Exception failure) {
        answer = "failed: " + failure;
      }
      System.out.println(answer);
      System.out.flush();
    }
    Runtime.getRuntime().halt(0); // as a process that was ended: a session that is still open runs out
  }
}
