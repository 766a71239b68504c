"""`python -m massless`."""

from massless.cli import main

if __name__ == "__main__":
    main(prog_name="massless")
