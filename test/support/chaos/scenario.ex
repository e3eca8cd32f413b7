defmodule Mote.Chaos.Scenario do
  @moduledoc """
  What happens in one run, as data: machines, modules, and in each phase some lanes of operations.

  The lanes of a phase go on at the same time, a process each. An operation names what it is about by numbers: whatever
  there is of that sort when it comes to it, counted round. So any operation can be left out of a scenario, and what
  remains is one, too. All phases but the first, which makes what there is, may go on for several rounds. After each phase everything is checked that must be true then (`Mote.Chaos.Checks`).
  """

  alias Mote.Chaos.{Kinds, Programs, Random}

  defstruct [:seed, :kinds, :schedulers, :stress, :machines, :modules, :plain, :phases, rounds: 1]

  @type op :: tuple
  @type t :: %__MODULE__{
          seed: integer,
          kinds: [atom],
          schedulers: pos_integer,
          stress: nil | String.t(),
          machines: [keyword],
          modules: [String.t()],
          plain: [struct],
          phases: [[[op]]],
          rounds: pos_integer
        }

  @doc "The scenario of a seed; with `only`, of these kinds of operations."
  @spec of(integer, [atom]) :: t
  def of(seed, only \\ []) do
    Random.seed(seed)
    kinds = kinds(only)
    stress = if only == [] and Random.once_in?(8), do: Random.one(["1", "concurrent"])
    machines = machines(kinds)
    context = %{kinds: kinds, machines: machines, stress: stress}

    %__MODULE__{
      seed: seed,
      kinds: Enum.map(kinds, &elem(&1, 1)),
      schedulers: Random.between(2, 4),
      stress: stress,
      machines: machines,
      modules:
        if(has?(kinds, [:programs, :code]),
          do: Random.several(1, 2, fn -> Programs.wild(size()) end),
          else: []
        ),
      plain: if(has?(kinds, [:agree]), do: Random.several(1, 2, fn -> Programs.plain(size()) end), else: []),
      phases: [[Kinds.setting(context)] | Random.several(1, 3, fn -> phase(context) end)]
    }
  end

  defp size, do: Random.between(3, 30)

  # One kind makes most of the operations, some others disturb it: each run has another mixture.
  defp kinds([]) do
    [main | others] = Enum.shuffle(Kinds.all())
    [{8, main} | for(kind <- Enum.take(others, Random.between(1, 6)), do: {Random.between(1, 3), kind})]
  end

  defp kinds(only), do: for(kind <- only, do: {1, kind})

  defp has?(kinds, wanted), do: Enum.any?(kinds, fn {_, kind} -> kind in wanted end)

  defp phase(context) do
    # Where little goes on, what was forgotten is not woken by others.
    lanes =
      if context.stress, do: Random.between(1, 3), else: Random.weighted([{2, 1}, {2, 2}, {2, 3}, {1, 5}])

    for _ <- 1..lanes, do: lane(context)
  end

  # A lane keeps to its kind for the most part: what belongs together stands together.
  defp lane(context) do
    own = Random.weighted(context.kinds)
    length = if context.stress, do: 12, else: 40

    Random.several(div(length, 4), length, fn ->
      kind = if Random.once_in?(4), do: Random.weighted(context.kinds), else: own
      Kinds.operation(kind, context)
    end)
  end

  # -- machines ------------------------------------------------------------------------------------------------

  defp machines(kinds) do
    # What needs a machine that may take all it wants, and what needs one that may not.
    tight = if has?(kinds, [:memory]), do: 1, else: 4
    Random.several(1, 3, fn -> machine(tight) end)
  end

  defp machine(tight) do
    main = Random.weighted([{4, 1}, {1, 2}, {1, 3}])
    side = Random.weighted([{4, 1}, {1, 2}])

    memory =
      if Random.once_in?(tight), do: Random.between(4 * (main + side + 1), 32) * 1_048_576, else: :infinity

    schedule = if Random.once_in?(8), do: {:seeded, Random.between(0, 1_000_000)}, else: :threads

    [
      sponsors: [main: [threads: main] ++ inbox(), side: [threads: side]],
      fuel: Random.weighted([{6, 1_000_000}, {2, 10_000_000}, {1, 10_000}, {1, 300}]),
      memory: memory,
      gc: Random.one([[], [], [min: 100_000], [min: 1_000_000, factor: 0.5]]),
      tier: Random.weighted([{3, :native}, {1, :interp}]),
      clock: Random.weighted([{4, :system}, {1, :manual}]),
      schedule: schedule,
      telemetry: [level: Random.one([:events, :stats, :threads]), interval: Random.one([20, 100, 1000])]
    ]
  end

  defp inbox do
    if Random.once_in?(6),
      do: [inbox: Random.between(5, 2_000), on_full: Random.one([:error, :wait])],
      else: []
  end

  # -- as text -------------------------------------------------------------------------------------------------

  @doc "Writes a scenario to a file, for `read!/1`."
  @spec write!(t, Path.t()) :: :ok
  def write!(scenario, path) do
    File.mkdir_p!(Path.dirname(path))
    options = [limit: :infinity, printable_limit: :infinity, charlists: :as_lists, width: 110, pretty: true]
    File.write!(path, inspect(scenario, options) <> "\n")
  end

  @spec read!(Path.t()) :: t
  def read!(path), do: path |> File.read!() |> Code.eval_string() |> elem(0)

  @doc "How many operations there are, those inside of others included."
  @spec size(t) :: non_neg_integer
  def size(%{phases: phases}),
    do: phases |> List.flatten() |> Enum.reject(&is_nil/1) |> Enum.map(&operations/1) |> Enum.sum()

  defp operations({:repeat, _, ops}), do: 1 + length(ops)
  defp operations(_), do: 1
end
