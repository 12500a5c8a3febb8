"""Invents the accounts, transfers and verdicts of this example; same files at each call."""

import csv
from pathlib import Path

import numpy as np

ACCOUNTS, RINGS, RING_SIZE, WRONG = 600, 9, 10, 40


def main() -> None:
    rng = np.random.default_rng(7)
    fraud = np.zeros(ACCOUNTS, dtype=bool)
    rings = rng.permutation(ACCOUNTS)[: RINGS * RING_SIZE].reshape(RINGS, RING_SIZE)
    fraud[rings] = True
    ids = [f"acc{k:04d}" for k in range(ACCOUNTS)]
    folder = Path(__file__).parent
    write(folder / "transfers.csv", ("payer", "payee"), transfers(rng, fraud, rings, ids))
    write(folder / "accounts.csv", ("id", *COLUMNS), accounts(rng, fraud, ids))
    known = sorted(rng.permutation(ACCOUNTS)[: ACCOUNTS // 2].tolist())
    verdicts = [(ids[k], "fraud" if fraud[k] else "honest") for k in known]
    write(folder / "verdicts.csv", ("id", "label"), verdicts)


def transfers(rng, fraud, rings, ids):
    """Rings pay each other, honest accounts pay anyone honest; a few bookings are wrong."""
    pairs = {tuple(sorted(rng.choice(ring, 2, replace=False))) for ring in rings for _ in range(22)}
    honest = np.flatnonzero(~fraud)
    pairs |= {tuple(sorted(rng.choice(honest, 2, replace=False))) for _ in range(1500)}
    pairs |= {
        tuple(sorted((int(rng.choice(honest)), int(rng.choice(rings.flatten())))))
        for _ in range(WRONG)
    }
    return [(ids[a], ids[b]) for a, b in sorted(pairs)]


COLUMNS = ("age_days", "balance", "transfers_per_week", "share_abroad")


def accounts(rng, fraud, ids):
    """Fraudulent accounts are somewhat younger, busier and farther away."""
    age = rng.gamma(2.0, 500.0, ACCOUNTS) / np.where(fraud, 1.8, 1.0)
    balance = rng.lognormal(7, 1.2, ACCOUNTS)
    pace = rng.poisson(np.where(fraud, 6, 4))
    abroad = np.clip(rng.beta(1.5, 6, ACCOUNTS) + 0.1 * fraud, 0, 1)
    rows = zip(ids, age.round(), balance.round(2), pace, abroad.round(3), strict=True)
    return [tuple(getattr(cell, "item", lambda c=cell: c)() for cell in row) for row in rows]


def write(path, header, rows):
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


if __name__ == "__main__":
    main()
