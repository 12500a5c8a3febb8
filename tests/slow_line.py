"""A line between two network namespaces with a delay and a rate: `python slow_line.py ONE TWO`.

Each namespace gets a device "wire"; what it sends comes here, waits as long as a line of 1 Gbit/s
would be busy and 2.5 ms more, and goes to the other one. Needs root and /dev/net/tun, no queueing
discipline of the kernel. Says "ready" when the devices are there, and ends when its input does.
"""

import contextlib
import fcntl
import os
import struct
import subprocess
import sys
import threading
import time
from queue import SimpleQueue

DELAY = 2.5e-3  # seconds, each way
RATE = 1e9 / 8  # bytes a second, each way
MTU = 9000
CREATE, TUN, BARE = 0x400454CA, 0x0001, 0x1000  # TUNSETIFF, IFF_TUN, IFF_NO_PI


def device(name: str, namespace: str) -> int:
    """The file of a new device, which the namespace calls "wire"."""
    file = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(file, CREATE, struct.pack("16sH22x", name.encode(), TUN | BARE))
    for change in (["mtu", str(MTU)], ["netns", namespace, "name", "wire"]):
        subprocess.run(["ip", "link", "set", "dev", name, *change], check=True)
    return file


def receive(file: int, packets: SimpleQueue) -> None:
    """Packets of a device with the moment at which each has passed the line."""
    free = 0.0
    with contextlib.suppress(OSError):  # its namespace went, and the device with it
        while packet := os.read(file, MTU):
            free = max(free, time.monotonic()) + len(packet) / RATE
            packets.put((free + DELAY, packet))


def deliver(file: int, packets: SimpleQueue) -> None:
    """Writes each packet to a device at its moment."""
    while True:
        moment, packet = packets.get()
        time.sleep(max(0.0, moment - time.monotonic()))
        with contextlib.suppress(OSError):  # a device that is not up yet: lost, as on any line
            os.write(file, packet)


def main() -> None:
    names = [f"egnn{os.getpid()}{side}" for side in "ab"]
    one, two = (device(*pair) for pair in zip(names, sys.argv[1:], strict=True))
    for source, target in ((one, two), (two, one)):
        packets: SimpleQueue = SimpleQueue()
        for work, file in ((receive, source), (deliver, target)):
            threading.Thread(target=work, args=(file, packets), daemon=True).start()
    os.write(sys.stdout.fileno(), b"ready\n")
    sys.stdin.read()


if __name__ == "__main__":
    main()
