"""Writes what a fleet keeps, in the middle of being moved, without any user's stores: fleet.py ROOT USERS [SEED]

The page of a fleet follows these files alone (see "Files" in the article Fleet), so that it can be looked at with as many
users as are wanted.
"""
import datetime
import hashlib
import json
import os
import random
import sqlite3
import sys

STAGES = ["off", "dualwrite", "shadow", "live", "rampdown", "complete"]
WAVES = [("canary", 10), ("0.1 %", 0.1), ("1 %", 1), ("5 %", 5), ("25 %", 25), ("everybody", 100)]
REASONS = ["tooFewShadowReads", "verificationMissing", "lagging", "tooFewShadowReads,verificationStale", "busy", "killed"]


def extents(users):
    """How many users there are in each wave."""
    ends, before = [], 0
    for number, (_, size) in enumerate(WAVES):
        end = users if number == len(WAVES) - 1 else min(users, size if number == 0 else -(-users * size // 100))
        before, width = max(before, int(end)), max(0, int(end) - before)
        ends.append(width)
    return ends


class Ledger:
    def __init__(self, path):
        self.path, self.previous, self.sequence = path, "0" * 64, 0

    def add(self, time, kind, /, **fields):
        self.sequence += 1
        instant = datetime.datetime.fromtimestamp(time, datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        event = json.dumps({kind: fields}, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        content = f'"previous":"{self.previous}","sequence":{self.sequence},"time":"{instant}","event":{event}}}\n'
        self.previous = hashlib.sha256(content.encode()).hexdigest()
        with open(self.path, "a", encoding="utf-8") as file:
            file.write('{"hash":"' + self.previous + '",' + content)


def members(users, draw):
    """The members' file, and whom it has: wave, bytes and id."""
    text = "habitstore-fleet\t1\t" + "".join(f"{draw.getrandbits(32):x}" for _ in range(4)) + "\n"
    text += "".join(f"wave\t{name}\n" for name, _ in WAVES)
    everybody, number = [], 0
    for wave, width in enumerate(extents(users)):
        for _ in range(width):
            size = int(draw.lognormvariate(14, 1.6))
            everybody.append((wave, "heavy" if size >= 268_435_456 else "normal", size, f"user-{number}"))
            number += 1
    text += "".join(f"{wave}\t{lane}\t{size}\t{user}\n" for wave, lane, size, user in everybody)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return text + f"sha256\t{digest}\n", everybody, digest


def row(member, current, draw, now):
    """What the index has of a member."""
    wave, lane, size, user = member
    stage = epoch = token = lag = verdict = reasons = arrived = arrived_token = moved = difference = None
    reads = 0
    if wave < current or (wave == current and draw.random() < 0.97):
        stage, epoch, token = 5, 5, draw.randrange(50, 5_000)
        arrived, arrived_token = now - draw.uniform(600, 86_400 * (current + 1 - wave)), token - draw.randrange(0, 50)
        reads, verdict, moved = draw.randrange(800, 3_000), "sound", arrived
    elif wave == current:
        stage, epoch, token = draw.choice([1, 2, 2, 3, 4]), 2, draw.randrange(50, 5_000)
        verdict, reasons, moved = "waits", draw.choice(REASONS), now - draw.uniform(60, 90_000)
        reads = draw.randrange(0, 900)
        lag = draw.randrange(1, 40) if "lagging" in reasons else None
        if draw.random() < 0.005:
            reasons, difference = "shadowDifferences", "a shadow read gave other records: Habit where streak >= ?: 3 rows here and 2 in the other store"
    elif wave == current + 1 and draw.random() < 0.3:
        stage, epoch, token = 0, 1, draw.randrange(50, 5_000)
    return (user, wave, lane, stage, epoch, token, lag, size, verdict, reasons, reads, arrived, arrived_token, None, moved, difference)


def writes(current, draw, now):
    """How long writes took, a stretch a minute and stage: slower at noon, and a little slower on the new store's side at first."""
    for minute in range(24 * 60, 0, -1):
        time = now - minute * 60
        day = 1 + 0.35 * (1 - abs(12 - (time % 86_400) / 3_600) / 12)
        for stage, p50, p99, share in [(0, 0.0021, 0.0135, 900), (3, 0.0017, 0.0125, 60), (5, 0.0012, 0.0082, 300)]:
            if stage and minute > 20 * 60:
                continue
            noise = draw.lognormvariate(0, 0.12)
            yield time, stage, share + draw.randrange(200), p50 * day * noise, p99 * day * draw.lognormvariate(0, 0.18)


def main():
    root, users = sys.argv[1], int(sys.argv[2])
    draw = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 7)
    now = datetime.datetime.now().timestamp()
    folder = os.path.join(root, "fleet")
    os.makedirs(folder, mode=0o700)
    plan = {"waves": [
        {"name": name, "soakSeconds": 7_200, "cleanShadowReads": 1_000 * (number + 1), **({"users": size} if number == 0 else {"percent": size})}
        for number, (name, size) in enumerate(WAVES)
    ]}
    with open(os.path.join(folder, "plan.json"), "w", encoding="utf-8") as file:
        json.dump(plan, file)
    text, everybody, digest = members(users, draw)
    with open(os.path.join(folder, "members.tsv"), "w", encoding="utf-8") as file:
        file.write(text)
    # Of few users the first wave has all.
    current = 0 if users < 100 else 4
    ledger = Ledger(os.path.join(folder, "ledger.jsonl"))
    ledger.add(now - 90_000, "drawn", users=users, digest=digest, by="ada")
    ledger.add(now - 89_000, "began", by="ada")
    for wave, width in enumerate(extents(users)[: current + 1]):
        begun = now - 86_400 + wave * 14_000
        ledger.add(begun, "waveBegan", wave=wave, name=WAVES[wave][0], users=width)
        if wave == 2:
            ledger.add(begun + 300, "halted", by="the run", because="5 errors in a row, the last one: u-757365722d31/sqlite: busy", user="user-1")
            ledger.add(begun + 900, "resumed", by="ada", because="the disk was full; there is room now")
        ledger.add(begun + 1_800 if wave < current else now - 1_500, "soakBegan", wave=wave, passedOver=0)
        if wave < current:
            ledger.add(begun + 9_000, "waveDone", wave=wave)
    index = sqlite3.connect(os.path.join(folder, "fleet.sqlite"), isolation_level=None)
    index.executescript("""
        PRAGMA journal_mode = WAL;
        PRAGMA synchronous = NORMAL;
        CREATE TABLE member (
          user TEXT PRIMARY KEY, wave INTEGER NOT NULL, lane TEXT NOT NULL, stage INTEGER, epoch INTEGER, token INTEGER,
          lag INTEGER, bytes INTEGER NOT NULL, verdict TEXT, reasons TEXT, cleanReads INTEGER NOT NULL DEFAULT 0,
          arrived REAL, arrivedToken INTEGER, sign INTEGER, moved REAL, difference TEXT
        ) WITHOUT ROWID;
        CREATE TABLE writes (
          time REAL NOT NULL, stage INTEGER NOT NULL, count INTEGER NOT NULL, p50 REAL NOT NULL, p99 REAL NOT NULL,
          PRIMARY KEY (time, stage)
        ) WITHOUT ROWID;
        CREATE TABLE word (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
        PRAGMA user_version = 2;
        BEGIN;
    """)
    index.executemany(
        "INSERT INTO member VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", (row(member, current, draw, now) for member in everybody)
    )
    index.executemany("INSERT INTO writes VALUES (?,?,?,?,?)", writes(current, draw, now))
    doing = f"wave {current + 1} of {len(WAVES)} is watched"
    index.executemany("INSERT INTO word VALUES (?,?)", [
        ("state", "soaking"), ("doing", doing), ("since", str(now - 1_000)), ("ledger", f"{ledger.sequence} {ledger.previous}"),
    ])
    index.execute("COMMIT")
    index.close()


main()
