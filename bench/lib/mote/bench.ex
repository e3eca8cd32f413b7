defmodule Mote.Bench do
  # The list of the programs that `mix mote.bench` measures; a new one is a file under `bench/programs/` and a
  # line here. How they are run is in `runner.ex`, how the figures are shown in `report.ex`.
  @moduledoc false

  alias Mote.Bench.Programs

  @programs [
    Programs.ForkBomb,
    Programs.Floor,
    Programs.Cps,
    Programs.Chain,
    Programs.PingPong,
    Programs.Serializer,
    Programs.Ring,
    Programs.Counting,
    Programs.Hot,
    Programs.Fan,
    Programs.Neighbours,
    Programs.Savina.Sor,
    Programs.Savina.Radixsort,
    Programs.Savina.Sieve,
    Programs.Savina.Apsp,
    Programs.Savina.Big,
    Programs.Savina.ForkJoinThroughput,
    Programs.Savina.ForkJoinCreate,
    Programs.Savina.Chameneos,
    Programs.Savina.Fibonacci,
    Programs.Savina.ConcurrentDictionary,
    Programs.Savina.SortedList,
    Programs.Savina.BoundedBuffer,
    Programs.Savina.Philosophers,
    Programs.Savina.Barber,
    Programs.Savina.Smokers,
    Programs.Savina.LogisticMap,
    Programs.Savina.Bank,
    Programs.Savina.Queens,
    Programs.Savina.Quicksort,
    Programs.Savina.BitonicSort,
    Programs.Savina.Trapezoid,
    Programs.Savina.GuidedSearch,
    Programs.Savina.FilterBank,
    Programs.Savina.UnbalancedTree,
    Programs.Savina.Pi,
    Programs.Savina.RecursiveMatmul,
    Programs.MergeSort,
    Programs.Northwind,
    Programs.NorthwindJoins,
    Programs.NorthwindThreads,
    Programs.ErfcBomb,
    Programs.RandomBomb,
    Programs.TimeEater,
    Programs.TimeEaterSends,
    Programs.SelfSend,
    Programs.Cons,
    Programs.Fib,
    Programs.ErfcDsl,
    Programs.Maps,
    Programs.Directory,
    Programs.Binaries,
    Programs.Vectors,
    Programs.Idle,
    Programs.Estragon,
    Programs.Sendx,
    Programs.FromSleep,
    Programs.Beside,
    Programs.Apart,
    Programs.ApartErfc,
    Programs.IdleCpu,
    Programs.Ask,
    Programs.Askers,
    Programs.Users.RateLimiter,
    Programs.Users.OrderBook,
    Programs.Users.Twin,
    Programs.Users.Router,
    Programs.Boundary,
    Programs.FanOut,
    Programs.Door,
    Programs.Durable,
    Programs.Record,
    Programs.Timers,
    Programs.Futures,
    Programs.FibFutures,
    Programs.KMeans,
    Programs.KNearest,
    Programs.PoolSize,
    Programs.BeamTurns,
    Programs.Telemetry,
    Programs.Churn,
    Programs.Collecting,
    Programs.GcPause,
    Programs.Quota,
    Programs.Prove,
    Programs.Sockets,
    Programs.Broker
  ]

  # Programs of examples: they are not there where examples are not compiled.
  @of_examples [Programs.SecureSockets]

  @doc "Every program, in the order in which they are listed and run."
  @spec programs() :: [module]
  def programs, do: @programs ++ Enum.filter(@of_examples, &Code.ensure_loaded?/1)

  @doc "The program of that name."
  @spec fetch(String.t()) :: {:ok, module} | :error
  def fetch(name) do
    case Enum.find(programs(), &(&1.about().name == name)) do
      nil -> :error
      program -> {:ok, program}
    end
  end
end
