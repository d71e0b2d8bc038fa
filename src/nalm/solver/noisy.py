from __future__ import annotations
def under_noise(problem, tried, chosen):
    from .judge import Status
    return problem, tried, chosen, Status.NONE, []
