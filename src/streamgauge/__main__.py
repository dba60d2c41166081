"""``python -m streamgauge``."""

from streamgauge.cli import main

if __name__ == "__main__":
    main()
