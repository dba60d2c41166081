"""``streamgauge`` for spark-submit, which wants a file: it takes the same arguments."""

from streamgauge.cli import main

if __name__ == "__main__":
    main()
