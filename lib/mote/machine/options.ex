defmodule Mote.Machine.Options do
  # The options of `Mote.start_link/1`, checked one by one.
  @moduledoc false

  import Mote.Internal.Expected, only: [expected!: 2]

  alias Mote.Machine.{Ending, MemoryOptions, Reporter, SponsorOptions}

  @fuel 10_000_000

  @defaults [
    name: nil,
    sponsors: [main: [threads: 1]],
    fuel: @fuel,
    memory: :infinity,
    gc: [],
    clock: :system,
    schedule: :threads,
    tier: :native,
    telemetry: [],
    shutdown: [],
    image: nil,
    identity: nil,
    resolve: nil,
    migrate: nil,
    durable: nil,
    record: nil
  ]

  @type t :: %{
          name: nil | atom | {:global, term} | {:via, module, term},
          title: String.t(),
          sponsors: [SponsorOptions.t()],
          workers: [{sponsor :: atom, timeout}],
          fuel: pos_integer,
          memory: pos_integer,
          gc: MemoryOptions.gc(),
          clock: :system | :manual,
          schedule: nil | {seed :: non_neg_integer, choices :: non_neg_integer} | [non_neg_integer],
          tier: :native | :interp,
          telemetry: %{interval: pos_integer, level: atom},
          drain: non_neg_integer,
          image: nil | String.t(),
          identity: nil | String.t(),
          resolve: nil | (Mote.Image.lost_value() -> {:ok, term} | :lost),
          migrate: nil | ({module, atom, tuple} -> Mote.Behaviour.t() | :keep),
          durable: nil | Mote.Durable.t()
        }

  @doc "Parses the options that a machine is started with; raises `ArgumentError`."
  @spec validate!(keyword) :: t
  def validate!(opts) do
    unless Keyword.keyword?(opts), do: expected!("a keyword list of options", opts)

    known!(opts)
    opts = Keyword.merge(@defaults, opts)
    name = name!(opts[:name])
    sponsors = sponsors!(opts[:sponsors])

    config = %{
      name: name,
      title: title(name),
      sponsors: sponsors,
      workers:
        for({name, of} <- opts[:sponsors], timeout = SponsorOptions.timeout!(name, of), do: {name, timeout}),
      fuel: fuel!(opts[:fuel]),
      memory: MemoryOptions.memory!(opts[:memory], sponsors),
      gc: MemoryOptions.gc!(opts[:gc]),
      clock: clock!(opts[:clock]),
      schedule: schedule!(opts[:schedule]),
      tier: tier!(opts[:tier]),
      telemetry: Reporter.options!(opts[:telemetry]),
      drain: Ending.drain!(opts[:shutdown]),
      image: image!(opts[:image]),
      identity: identity!(opts[:identity]),
      resolve: asked!(opts, :resolve),
      migrate: asked!(opts, :migrate),
      durable: durable!(opts[:durable], opts[:record])
    }

    :ok = Mote.Durable.possible!(config)
    config
  end

  @doc """
  That all of these are options of a machine, whatever their values; raises `ArgumentError`. What has options beside those names
  them.
  """
  @spec known!(keyword, [atom], String.t()) :: :ok
  def known!(opts, others \\ [], what \\ "a machine") do
    for {key, _} <- opts, not Keyword.has_key?(@defaults, key) do
      raise ArgumentError,
            "unknown option #{inspect(key)}; the options of #{what} are #{list(others ++ Keyword.keys(@defaults))}"
    end

    :ok
  end

  # What OTP says when there is no process of a name.
  defp name!(name) when is_atom(name) and name != :undefined, do: name
  defp name!({:global, _} = name), do: name
  defp name!({:via, module, _} = name) when is_atom(module), do: name

  defp name!(other) do
    expected!(":name to be an atom (other than :undefined), {:global, term} or {:via, module, term}", other)
  end

  # For the log.
  defp title(nil), do: "anonymous"
  defp title({:global, name}), do: title(name)
  defp title({:via, _, name}), do: title(name)
  defp title(name), do: inspect(name)

  defp fuel!(fuel) when is_integer(fuel) and fuel > 0 and fuel < 0x10000000000000000, do: fuel

  defp fuel!(other) do
    raise ArgumentError,
          "expected :fuel to be a positive integer of at most 64 bits (calls and loop steps that one turn may " <>
            "spend), got: #{inspect(other)}"
  end

  # What becomes of an event that an order names, in the bits above its place; those without a name have their turns.
  @place 0x10000000
  @fates [lost: 1, twice: 2, aborted: 3, fires: 4]

  defguardp is_place(n) when is_integer(n) and n >= 0 and n < @place

  # As many choices as anybody could make.
  @choices 0xFFFFFFFFFFFFFFFF

  defguardp is_word(n) when is_integer(n) and n in 0..@choices

  defp schedule!(:threads), do: nil
  defp schedule!({:seeded, seed}) when is_word(seed), do: {seed, @choices}
  defp schedule!({:seeded, seed, choices}) when is_word(seed) and is_word(choices), do: {seed, choices}

  defp schedule!({:order, steps} = schedule) do
    numbers = if is_list(steps) and not List.improper?(steps), do: Enum.map(steps, &step/1), else: [nil]
    if Enum.all?(numbers), do: numbers, else: bad_schedule(schedule)
  end

  defp schedule!(other), do: bad_schedule(other)

  defp step(place) when is_place(place), do: place

  defp step({fate, place}) when is_place(place) do
    with n when is_integer(n) <- @fates[fate], do: n * @place + place
  end

  defp step(_other), do: nil

  @doc "The steps of an order, as a search has found it."
  @spec order([non_neg_integer]) :: [Mote.Test.step()]
  def order(numbers) do
    names = Map.new(@fates, fn {fate, n} -> {n, fate} end)

    for number <- numbers do
      case div(number, @place) do
        0 -> number
        n -> {names[n], rem(number, @place)}
      end
    end
  end

  @spec bad_schedule(term) :: no_return
  defp bad_schedule(other) do
    raise ArgumentError,
          "expected :schedule to be :threads, {:seeded, seed} or {:seeded, seed, choices}, both integers from 0 of at " <>
            "most 64 bits, or {:order, steps} as Mote.Test.prove/3 finds it, got: #{inspect(other)}"
  end

  defp clock!(clock) when clock in [:system, :manual], do: clock

  defp clock!(other) do
    expected!(":clock to be :system (time passes by itself) or :manual (Mote.advance/3 lets it pass)", other)
  end

  @doc false
  def tier!(tier) when tier in [:native, :interp], do: tier

  def tier!(other) do
    raise ArgumentError,
          "expected :tier to be :native (machine code, where this platform is supported) or :interp (the interpreter), " <>
            "got: #{inspect(other)}"
  end

  defp image!(nil), do: nil
  defp image!(path), do: path!(path, "image:")

  defp durable!(durable, nil), do: Mote.Durable.options!(durable)
  defp durable!(nil, path), do: Mote.Replay.Recording.options!(path)

  defp durable!(_durable, _path),
    do: raise(ArgumentError, "a machine has :durable or :record, and not both: its journal is one of the two")

  defp asked!(opts, key) do
    with other when other != nil and not is_function(other, 1) <- opts[key],
         do: expected!("#{inspect(key)} to be a function of one argument", other)
  end

  @doc "The name of a machine beyond its life; raises `ArgumentError`."
  @spec identity!(term) :: nil | String.t()
  def identity!(nil), do: nil

  def identity!(identity) do
    if is_binary(identity) and byte_size(identity) in 1..255 and String.valid?(identity),
      do: identity,
      else: expected!(":identity to be a text of 1 to 255 bytes", identity)
  end

  @doc "The name of a file as a text; raises `ArgumentError`."
  @spec path!(term, String.t()) :: String.t()
  def path!(path, what) do
    if is_binary(path) and path != "" and not String.contains?(path, "\0"),
      do: path,
      else: expected!("the name of a file as #{what}, a text", path)
  end

  defp sponsors!([_ | _] = sponsors) do
    unless Keyword.keyword?(sponsors), do: bad_sponsors(sponsors)
    names = Keyword.keys(sponsors)

    case names -- Enum.uniq(names) do
      [] -> Enum.map(sponsors, fn {name, opts} -> SponsorOptions.validate!(name, opts) end)
      [name | _] -> raise ArgumentError, "expected sponsors of different names, got #{inspect(name)} twice"
    end
  end

  defp sponsors!(other), do: bad_sponsors(other)

  defp bad_sponsors(other),
    do: expected!(":sponsors to be a keyword list of names and options, such as [main: [threads: 1]]", other)

  defp list(names), do: Enum.map_join(names, ", ", &inspect/1)
end
