# SPDX-License-Identifier: Apache-2.0
"""one_name.py FOLDER: one address for whichever server is the primary. Hands each new connection to 127.0.0.1 and the port
that FOLDER/target names at that moment; what is open stays where it is. Writes FOLDER/port when it listens."""
import asyncio
import os
import sys

folder = sys.argv[1]


async def hand_on(reader, writer):
    try:
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
    except OSError:
        pass
    writer.close()


async def accept(reader, writer):
    with open(f"{folder}/target") as target:
        port = int(target.read())
    try:
        to_reader, to_writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return writer.close()
    await asyncio.gather(hand_on(reader, to_writer), hand_on(to_reader, writer))


async def main():
    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    with open(f"{folder}/port.part", "w") as port:
        port.write(str(server.sockets[0].getsockname()[1]))
    os.rename(f"{folder}/port.part", f"{folder}/port")
    await server.serve_forever()


asyncio.run(main())
