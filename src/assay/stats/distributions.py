"""Normal, Student t and chi-square distributions; importing scipy for a few quantiles would take three seconds.

Each function is checked against scipy in tests/stats/test_distributions.py.
"""

from __future__ import annotations

import math
from functools import lru_cache

# Far more than any argument of the tested grid needs (df up to 1e6, p down to 1e-100).
_ITERATIONS = 10_000
_EPSILON = 1e-16
_TINY = 1e-300  # replaces a zero denominator in Lentz's method


def normal_cdf(x: float) -> float:
    """Return Φ(x) = erfc(−x/√2)/2 (DLMF 7.2.2); erfc keeps the precision of the lower tail that 1 − erf loses."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


@lru_cache(maxsize=1024)
def normal_quantile(p: float) -> float:
    """Invert Φ: rational start (Abramowitz & Stegun 26.2.23, error 4.5e-4), then Halley steps on erfc.

    Halley converges cubically, so four steps reach machine precision. A table of high-order coefficients (AS 241)
    would be faster but longer, and few quantiles are computed.
    """
    if not 0.0 < p < 1.0:
        return {0.0: -math.inf, 1.0: math.inf}.get(p, math.nan)
    if p > 0.5:
        return -normal_quantile(1.0 - p)
    r = math.sqrt(-2.0 * math.log(p))
    x = (2.515517 + r * (0.802853 + r * 0.010328)) / (1.0 + r * (1.432788 + r * (0.189269 + r * 0.001308))) - r
    for _ in range(4):
        density = math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
        step = (normal_cdf(x) - p) / density
        x -= step / (1.0 + 0.5 * x * step)
    return x


def incomplete_beta(a: float, b: float, x: float, y: float) -> float:
    """Return the regularized incomplete beta I_x(a, b) by its continued fraction (DLMF 8.17.22, modified Lentz).

    `y` is 1 − x, which the caller has without cancellation. The fraction converges fast for x < (a + 1)/(a + b + 2);
    above that, callers use I_x(a, b) = 1 − I_{1−x}(b, a) (DLMF 8.17.4). The power series is not used: it needs
    thousands of terms near x = 1 with the large a of many degrees of freedom.
    """
    log_x = math.log1p(-y) if x > 0.5 else math.log(x)  # a is 5e5 at ν = 1e6: ln x near 1 must keep its digits
    log_y = math.log1p(-x) if y > 0.5 else math.log(y)
    log_front = a * log_x + b * log_y - _log_beta(a, b) - math.log(a)
    return math.exp(log_front) * _beta_fraction(a, b, x)


def _beta_fraction(a: float, b: float, x: float) -> float:
    c = 1.0
    d = 1.0 / _nonzero(1.0 - (a + b) * x / (a + 1.0))
    h = d
    for m in range(1, _ITERATIONS):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for term in (even, odd):
            d = 1.0 / _nonzero(1.0 + term * d)
            c = _nonzero(1.0 + term / c)
            h *= c * d
        if abs(c * d - 1.0) <= _EPSILON * 4:
            break
    return h


def _nonzero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def _log_beta(a: float, b: float) -> float:
    """Return ln B(a, b); for a large argument by Stirling remainders (DiDonato & Morris 1992, BCORR).

    lgamma(a + b) − lgamma(a) cancels seven digits at a = 1e6; the remainders do not.
    """
    small, large = min(a, b), max(a, b)
    if large < 10.0:
        return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    total = small + large
    # lgamma(large) − lgamma(total), each written as (x − ½)ln x − x + ½ln 2π + remainder(x)
    difference = (
        -(large - 0.5) * math.log1p(small / large)
        - small * math.log(total)
        + small
        + _stirling_remainder(large)
        - _stirling_remainder(total)
    )
    return math.lgamma(small) + difference


def _stirling_remainder(x: float) -> float:
    """Return ln Γ(x) − [(x − ½)ln x − x + ½ln 2π] by its series (DLMF 5.11.1), exact to 1e-16 for x ≥ 10."""
    y = 1.0 / (x * x)
    coefficients = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
    return sum(c * y**i for i, c in enumerate(coefficients)) / x


def t_sf(t: float, df: float) -> float:
    """Return P(T > t) of Student's t with ν = `df`: I_{ν/(ν+t²)}(ν/2, ½)/2 for t ≥ 0 (Abramowitz & Stegun 26.7.1).

    The tail is computed from the beta function, not as 1 − cdf, so that small p-values keep their digits.
    """
    if t < 0.0:
        return 1.0 - t_sf(-t, df)
    if math.isinf(t):
        return 0.0
    if math.isinf(df):
        return normal_cdf(-t)
    x, y = df / (df + t * t), t * t / (df + t * t)
    if x > (df / 2 + 1.0) / (df / 2 + 2.5):
        return 0.5 * (1.0 - incomplete_beta(0.5, df / 2, y, x)) if y > 0.0 else 0.5
    return 0.5 * incomplete_beta(df / 2, 0.5, x, y)


@lru_cache(maxsize=4096)
def t_quantile(p: float, df: float) -> float:
    """Invert the t cdf by Newton on ln P(T > t), inside a bracket.

    ln P is nearly linear in the heavy tails of few degrees of freedom and smooth in the normal limit, so Newton needs
    few steps; the bracket guarantees convergence. Hill's expansion (1970) is not used: it has three digits at df = 3.
    """
    if not (0.0 < p < 1.0 and df > 0.0):
        return {0.0: -math.inf, 1.0: math.inf}.get(p, math.nan)
    if p == 0.5:
        return 0.0
    if p > 0.5:
        return -t_quantile(1.0 - p, df)
    return -_t_upper(p, df)


def _t_upper(tail: float, df: float) -> float:
    low, high = 0.0, max(1.0, -normal_quantile(tail))
    log_beta = _log_beta(df / 2, 0.5)
    while t_sf(high, df) > tail:
        low, high = high, high * 2.0
    t = 0.5 * (low + high)
    for _ in range(_ITERATIONS):
        sf = t_sf(t, df)
        low, high = (t, high) if sf > tail else (low, t)
        # density (1 + t²/ν)^(−(ν+1)/2) / (√ν B(ν/2, ½))
        slope = math.exp(-0.5 * (df + 1.0) * math.log1p(t * t / df) - log_beta) / math.sqrt(df)
        newton = t + sf * math.log(sf / tail) / slope if slope * sf > 0.0 else low
        following = newton if low < newton < high else 0.5 * (low + high)
        if abs(following - t) <= 4e-16 * t or not low < following < high:
            return following
        t = following
    return t


@lru_cache(maxsize=256)
def chi_square_quantile(p: float, df: float) -> float:
    """Invert the chi-square cdf by bisection; from df 2,000 by Wilson and Hilferty's cube (1931), accurate to 1e-5."""
    if not (0.0 < p < 1.0 and df > 0.0):
        return {0.0: 0.0, 1.0: math.inf}.get(p, math.nan)
    cube = max(0.0, 1.0 - 2.0 / (9.0 * df) + normal_quantile(p) * math.sqrt(2.0 / (9.0 * df))) ** 3
    if df >= 2_000.0:
        return df * cube
    low, high = 0.0, max(1.0, 2.0 * df * cube)
    while _gamma_cdf(df / 2.0, high / 2.0) < p:
        low, high = high, 2.0 * high
    while (middle := 0.5 * (low + high)) not in (low, high):
        low, high = (middle, high) if _gamma_cdf(df / 2.0, middle / 2.0) < p else (low, middle)
    return high


def _gamma_cdf(a: float, x: float) -> float:
    term = total = 1.0
    for k in range(1, _ITERATIONS):
        term *= x / (a + k)
        total += term
        if term <= _EPSILON * total:
            break
    return total * math.exp(a * math.log(x) - x - math.lgamma(a + 1.0)) if x > 0.0 else 0.0
