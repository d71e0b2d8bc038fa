"""The laws of the regression benchmark, written as plain expressions.

`LAWS` are the 29 laws that the solver was developed on. `FEYNMAN` are the equations of volume I of the Feynman set
(Udrescu and Tegmark, "AI Feynman", 2020) without sin, cos, exp, log and their inverses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]

FUNCTIONS: dict[str, object] = {
    "pi": math.pi, "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "tanh": np.tanh, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "abs": np.abs,
    "harmonic": lambda n: special.digamma(n + 1) + np.euler_gamma,
}  # fmt: skip
"""What an expression may name besides its inputs."""


@dataclass(frozen=True)
class Law:
    """A name, the inputs in order, and the expression over them."""

    name: str
    inputs: tuple[str, ...]
    expression: str

    def __call__(self, X: Array) -> Array:
        scope = FUNCTIONS | {name: X[:, i] for i, name in enumerate(self.inputs)}
        with np.errstate(all="ignore"):
            return np.asarray(eval(self.expression, {"__builtins__": {}}, scope), dtype=np.float64)


def law(name: str, inputs: str, expression: str) -> Law:
    return Law(name, tuple(inputs.split()), expression)


LAWS = (
    law("gravity", "m M r", "m*M/r**2"),
    law("gravity with G", "m M r", "6.674e-11*m*M/r**2"),
    law("ideal gas", "P V n T", "P*V/(n*T)"),
    law("ideal gas with R", "n T V", "8.314*n*T/V"),
    law("electric power", "V R", "V**2/R"),
    law("kinetic energy", "m v", "m*v**2/2"),
    law("thin lens", "f g", "1/(1/f + 1/g)"),
    law("thin lens, scaled", "f g", "2.37/(1/f + 1/g)"),
    law("Pythagoras", "a b", "sqrt(a**2 + b**2)"),
    law("Pythagoras, scaled", "a b", "1.73*sqrt(a**2 + b**2)"),
    law("three resistors", "a b c", "1/(1/a + 1/b + 1/c)"),
    law("two products", "a b c d", "a*b + c*d"),
    law("two products, scaled", "a b c d", "3.71*(a*b + c*d)"),
    law("uniform acceleration", "u t a", "u*t + a*t**2/2"),
    law("Bernoulli", "p r v g h", "p + r*v**2/2 + r*g*h"),
    law("Bernoulli with g", "p r v h", "p + r*v**2/2 + 9.81*r*h"),
    law("relativistic mass", "m v c", "m/sqrt(1 - v**2/c**2)"),
    law("Doppler", "f v c", "f/(1 - v/c)"),
    law("velocity addition", "u v c", "(u + v)/(1 + u*v/c**2)"),
    law("centre of mass", "m a n b", "(m*a + n*b)/(m + n)"),
    law("distance", "a b c d", "sqrt((a - b)**2 + (c - d)**2)"),
    law("quotient with sum", "a b c d e", "(a*b + c)/(d + e)"),
    law("quotient, scaled", "a b c d", "2.37*(a + b)/(c - d)"),
    law("nested fraction", "a b c d e", "a/(b + c/(d + e))"),
    law("product of sums", "a b c d", "(a + b)*(c + d)"),
    law("reduced mass", "m n", "m*n/(m + n)"),
    law("Kepler", "a G M", "sqrt(a**3/(G*M))"),
    law("shifted inverse square", "a b c", "a*(1/b**2 - 1/c**2)"),
    law("sum of a product and a ratio", "a b c d", "a*b - c/d"),
)

FEYNMAN = (
    law("I.8.14", "a b c d", "sqrt((b - a)**2 + (d - c)**2)"),
    law("I.9.18", "m n G a b c d e f", "G*m*n/((b - a)**2 + (d - c)**2 + (f - e)**2)"),
    law("I.10.7", "m v c", "m/sqrt(1 - v**2/c**2)"),
    law("I.11.19", "a b c d e f", "a*d + b*e + c*f"),
    law("I.12.1", "mu N", "mu*N"),
    law("I.12.2", "q p e r", "q*p/(4*pi*e*r**2)"),
    law("I.12.4", "q e r", "q/(4*pi*e*r**2)"),
    law("I.12.5", "q E", "q*E"),
    law("I.13.4", "m v u w", "m*(v**2 + u**2 + w**2)/2"),
    law("I.13.12", "m n a b G", "G*m*n*(1/b - 1/a)"),
    law("I.14.3", "m g z", "m*g*z"),
    law("I.14.4", "k x", "k*x**2/2"),
    law("I.15.3x", "x u c t", "(x - u*t)/sqrt(1 - u**2/c**2)"),
    law("I.15.3t", "x c u t", "(t - u*x/c**2)/sqrt(1 - u**2/c**2)"),
    law("I.15.10", "m v c", "m*v/sqrt(1 - v**2/c**2)"),
    law("I.16.6", "c v u", "(u + v)/(1 + u*v/c**2)"),
    law("I.18.4", "m n a b", "(m*a + n*b)/(m + n)"),
    law("I.24.6", "m w o x", "m*(w**2 + o**2)*x**2/4"),
    law("I.25.13", "q C", "q/C"),
    law("I.27.6", "d e n", "1/(1/d + n/e)"),
    law("I.29.4", "w c", "w/c"),
    law("I.32.5", "q a e c", "q**2*a**2/(6*pi*e*c**3)"),
    law("I.32.17", "e c E r w o", "e*c*E**2/2*(8*pi*r**2/3)*(w**4/(w**2 - o**2)**2)"),
    law("I.34.8", "q v B p", "q*v*B/p"),
    law("I.34.10", "c v o", "o/(1 - v/c)"),
    law("I.34.14", "c v o", "(1 + v/c)/sqrt(1 - v**2/c**2)*o"),
    law("I.34.27", "w h", "h/(2*pi)*w"),
    law("I.38.12", "m q h e", "4*pi*e*(h/(2*pi))**2/(m*q**2)"),
    law("I.39.10", "P V", "3*P*V/2"),
    law("I.39.11", "g P V", "P*V/(g - 1)"),
    law("I.39.22", "n T V k", "n*k*T/V"),
    law("I.43.16", "u q V d", "u*q*V/d"),
    law("I.43.31", "u k T", "u*k*T"),
    law("I.43.43", "g k A v", "k*v/((g - 1)*A)"),
    law("I.47.23", "g P r", "sqrt(g*P/r)"),
    law("I.48.20", "m v c", "m*c**2/sqrt(1 - v**2/c**2)"),
)


def sample(chosen: Law, low: float, high: float, rows: int, redundant: int, seed: int) -> tuple[Array, Array]:
    """Rows from U[low, high) at which the law has a real value, rounded to float32, and its float32 targets."""
    rng = np.random.default_rng([seed, rows, redundant, int(1000 * low), int(1000 * high), len(chosen.name)])
    kept: list[Array] = []
    while sum(map(len, kept)) < rows:
        X = rng.uniform(low, high, (4 * rows, len(chosen.inputs) + redundant))
        kept.append(X[np.isfinite(chosen(X))])
    X = np.concatenate(kept)[:rows]
    return X.astype(np.float32).astype(np.float64), chosen(X).astype(np.float32).astype(np.float64)
