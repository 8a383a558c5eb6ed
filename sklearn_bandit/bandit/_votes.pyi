def margin_bound(
    leader: float,
    runner_up: float,
    n_used: float,
    n_total: float,
    quantile: float,
) -> float: ...
def look_schedule(n_total: int, delta: float) -> tuple[list[int], list[float]]: ...
