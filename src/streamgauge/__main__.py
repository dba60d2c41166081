"""``python -m streamgauge``."""

from streamgauge.cli import start

if __name__ == "__main__":
    start()
