"""``python -m stabbench`` is the command line."""

from stabbench.cli import main

if __name__ == "__main__":
    main()
