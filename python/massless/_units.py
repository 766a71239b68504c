"""Sizes in bytes, read from text and written for people."""

import re

_FACTORS = {
    "": 1,
    "B": 1,
    **{f"{prefix}B": 1000**power for power, prefix in enumerate("KMGTP", start=1)},
    **{f"{prefix}IB": 1024**power for power, prefix in enumerate("KMGTP", start=1)},
}
_NUMBER = re.compile(r"\s*([0-9]+)(?:\.([0-9]+))?\s*([A-Za-z]*)\s*", re.ASCII)
_LARGEST = 2**63 - 1


def parse_bytes(text: str | int) -> int:
    """`"80GiB"`, `"80 GB"`, `"1.5GiB"` or plain bytes as an integer; rounded down to whole bytes.

    GB is 1000**3, GiB is 1024**3. Raises ValueError, whose text says what was found and what is
    accepted.
    """
    match = _NUMBER.fullmatch(str(text))
    factor = _FACTORS.get(match[3].upper()) if match else None
    # Longer than any size that can be needed: refused before it is multiplied.
    if factor is None or len(match[1]) > 19 or len(match[2] or "") > 19:
        raise ValueError(
            f'{str(text)[:60]!r} is not a number of bytes such as "80GiB", "80 GB" or "85899345920"'
        )
    whole, fraction = match[1], match[2] or ""
    value = int(whole + fraction) * factor // 10 ** len(fraction)
    if value == 0:
        raise ValueError(f"{str(text)[:60]!r} is no memory at all; a positive size is needed")
    if value > _LARGEST:
        raise ValueError(f"{str(text)[:60]!r} is larger than 8 EiB")
    return value


def bytes_text(count: int) -> str:
    """`80.0 GiB`, `12.5 KiB`, `96 B`: one decimal, or two below 10."""
    sign, rest = ("-", -count) if count < 0 else ("", count)
    value, unit = float(rest), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB"):
        # 1023.96 would be printed as 1024.0: the next unit says it better.
        if value < 1023.95 or unit == "PiB":
            break
        value /= 1024
    if unit == "B":
        return f"{sign}{rest} B"
    return f"{sign}{value:.2f} {unit}" if value < 9.995 else f"{sign}{value:.1f} {unit}"


def count_text(count: int) -> str:
    """`8.03 G`, `124 M`, `512`: three digits and a decimal prefix."""
    value = float(count)
    for prefix in ("", "K", "M", "G", "T", "P", "E"):
        if abs(value) < 999.5 or prefix == "E":
            break
        value /= 1000
    if not prefix:
        return str(count)
    digits = max(0, 2 - (len(str(int(abs(value)))) - 1))
    return f"{value:.{digits}f} {prefix}"
