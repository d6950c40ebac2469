"""The table of swizzles and banks on the page of fragments, against the golden descriptors."""

import xml.etree.ElementTree as ET
from collections import Counter

from page_visit import REPOSITORY

from golden.matrix_descriptors import MatrixDescriptor

PAGE = REPOSITORY / "site" / "pages" / "fragments" / "page.html"


def test_the_banks_of_each_row_are_those_of_the_descriptor():
    text = PAGE.read_text()
    start = text.index('<table class="data">')
    table = ET.fromstring(text[start : text.index("</table>", start)] + "</table>")
    _, *heads = ("".join(cell.itertext()) for cell in table.findall("thead/tr/*"))
    *rows, meeting = ([cell.text for cell in row.findall("td")] for row in table.findall("tbody/tr"))
    assert (len(rows), len(heads)) == (8, 6)
    for head, met, *shown in zip(heads, meeting, *rows, strict=True):
        size, swizzle = head.split(" bytes, ")
        found = MatrixDescriptor(0, 0, 1024, 0, int(size)).chunks(8, False)[:, 0]
        places = found if swizzle == "swizzle" else range(0, 8 * int(size), int(size))
        banks = [int(place) // 4 % 32 for place in places]
        assert shown == [f"{bank} to {bank + 3}" for bank in banks]
        assert met == str(max(Counter(banks).values()))
