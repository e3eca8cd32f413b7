# Futures that each compute fib(n), beside tasks; sizes are n.
#
#     mix run bench/fib_futures.exs
#     mix run bench/fib_futures.exs 25
Code.require_file("compare.exs", __DIR__)
Mote.Bench.Compare.run(Mote.Bench.Programs.FibFutures, [16, 21])
