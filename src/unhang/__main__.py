"""`python -m unhang`."""

from unhang.commands import main

if __name__ == "__main__":
    main()
