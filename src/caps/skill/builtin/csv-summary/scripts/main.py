"""Reads one line of JSON, says how far it is, writes one line with the result."""

import csv
import io
import json
import sys


def say(**message):
    print(json.dumps(message), flush=True)


def to_number(text):
    try:
        return float(text)
    except ValueError:
        return None


def describe(name, cells):
    filled = [cell for cell in cells if cell.strip() != ""]
    numbers = [number for number in map(to_number, filled) if number is not None]
    column = {"name": name, "empty": len(cells) - len(filled)}
    if not filled:
        return {**column, "kind": "empty"}
    if len(numbers) < len(filled):
        return {**column, "kind": "text", "different": len(set(filled))}
    mean = sum(numbers) / len(numbers)
    return {**column, "kind": "number", "min": min(numbers), "max": max(numbers), "mean": mean}


def summarise(text, delimiter):
    rows = list(csv.reader(io.StringIO(text), delimiter=delimiter))
    names, body = rows[0], [row for row in rows[1:] if row]
    columns = []
    for index, name in enumerate(names):
        columns.append(describe(name, [row[index] if index < len(row) else "" for row in body]))
        say(type="event", kind="progress", data={"column": name, "percent": 100 * (index + 1) / len(names)})
    return {"rows": len(body), "columns": columns}


arguments = json.loads(sys.stdin.readline())["input"]
say(type="result", data=summarise(arguments["csv"], arguments["delimiter"]))
