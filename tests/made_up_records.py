"""Records that no training made: for tests of what comes after it."""

from elasticgnn.experiment.record import RunRecord, pack_curve


def made_up_record(run=0, val=0.8, test=0.7, epochs=30, values=None, series=None):
    rising = [test * (1 - 0.5 ** (epoch + 1)) for epoch in range(epochs)]
    curves = {
        "loss": pack_curve([2.0 / (epoch + 1) for epoch in range(epochs)]),
        "val": pack_curve([val - 0.01] * (epochs - 1) + [val]),
        "test": pack_curve(rising),
    }
    return RunRecord(
        run=run,
        seed=run,
        split=f"{run:012x}",
        val=val,
        test=test,
        selected_epoch=epochs - 1,
        epochs=epochs,
        seconds=0.5,
        values=values or {},
        series=series or {},
        curves=curves,
    )
