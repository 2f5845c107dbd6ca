"""Reading the report of wrk: the texts are output of wrk 4.1.0 on the fake server."""

import pytest

from tools.wrk import Driven, Wrk, WrkError, parse

FAST = """\
Running 1s test @ http://127.0.0.1:35073/p/5
  1 threads and 50 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   466.17us  272.59us   4.64ms   97.32%
    Req/Sec   109.08k     4.31k  113.04k    90.00%
  Latency Distribution
     50%  444.00us
     75%  455.00us
     90%  475.00us
     99%    1.35ms
  108199 requests in 1.00s, 136.00MB read
Requests/sec: 108087.78
Transfer/sec:    135.86MB
"""
NOT_FOUND = """\
Running 1s test @ http://127.0.0.1:42681/nope
  1 threads and 5 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    98.54us  379.60us   6.25ms   98.70%
    Req/Sec    77.64k     5.98k   91.50k    63.64%
  84628 requests in 1.10s, 16.55MB read
  Non-2xx or 3xx responses: 84628
Requests/sec:  76982.13
Transfer/sec:     15.05MB
"""
TOO_SLOW = """\
Running 2s test @ http://127.0.0.1:37117/p/4
  1 threads and 5 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     0.00us    0.00us   0.00us    -nan%
    Req/Sec     3.00      0.00     3.00    100.00%
  Latency Distribution
     50%    0.00us
     75%    0.00us
     90%    0.00us
     99%    0.00us
  5 requests in 2.00s, 6.44KB read
  Socket errors: connect 0, read 0, write 0, timeout 5
Requests/sec:      2.49
Transfer/sec:      3.21KB
"""


@pytest.mark.parametrize(
    ("printed", "driven"),
    [
        (FAST, Driven(108_199, 108_087.78, failed=0, p50_ns=444_000)),
        (NOT_FOUND, Driven(84_628, 76_982.13, failed=84_628, p50_ns=None)),
        (TOO_SLOW, Driven(5, 2.49, failed=5, p50_ns=None)),
    ],
)
def test_throughput_failures_and_the_median_are_read(printed: str, driven: Driven) -> None:
    assert parse(printed) == driven


@pytest.mark.parametrize(
    "printed",
    [
        "",
        "unable to connect to 127.0.0.1:9 Connection refused",
        FAST.partition("Requests/sec")[0],
    ],
)
def test_an_invalid_report_is_refused_with_the_output_of_wrk(printed: str) -> None:
    with pytest.raises(WrkError, match="wrk printed no report"):
        parse(printed)


def test_a_failing_program_is_one_sentence_with_its_output() -> None:
    with pytest.raises(WrkError, match=r"wrk failed on http://127\.0\.0\.1:1/: "):
        Wrk("/bin/ls", None).drive("http://127.0.0.1:1/", 1, 1)
