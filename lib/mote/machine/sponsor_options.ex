defmodule Mote.Machine.SponsorOptions do
  # The options of one sponsor, checked: how many threads it has, on which cores they run, and how much may wait in it.
  @moduledoc false

  import Mote.Internal.Expected, only: [expected!: 2]

  alias Mote.Native

  # What the machine numbers its threads with.
  @most_threads 1024

  # Beside each other in a beam sponsor, and for how long each.
  @max_concurrency 100
  @timeout 5_000

  # An inbox without a bound.
  @infinity 0xFFFFFFFFFFFFFFFF

  @typedoc """
  Name, threads, the cores that these are bound to, in turn (no cores: not bound), the events that may wait, and whether
  senders wait for room. Of a beam sponsor, how many turns may run at once. Whether its threads have sockets, and whether each keeps
  the actors that it is given.
  """
  @type t ::
          {atom, pos_integer, [non_neg_integer], pos_integer, boolean, pos_integer | nil, {boolean, boolean}}

  @options [:threads, :partition, :pin, :inbox, :on_full, :io]
  @of_beam [:beam, :max_concurrency, :timeout, :inbox, :on_full]

  @doc "Parses the options that a sponsor is started with; raises `ArgumentError`."
  @spec validate!(atom, keyword) :: t
  def validate!(name, opts) do
    name!(name)

    unless Keyword.keyword?(opts),
      do: expected!("the options of sponsor #{inspect(name)} to be a keyword list", opts)

    beam? = boolean!(name, :beam, Keyword.get(opts, :beam, false))
    known!(name, Keyword.delete(opts, :beam), if(beam?, do: @of_beam -- [:beam], else: @options), beam?)

    {
      name,
      threads!(Keyword.get(opts, :threads, 1), ":threads of sponsor #{inspect(name)}"),
      pin!(name, Keyword.get(opts, :pin, false)),
      inbox!(name, Keyword.get(opts, :inbox, :infinity)),
      on_full!(name, Keyword.get(opts, :on_full, :error)),
      if(beam?, do: max_concurrency!(name, Keyword.get(opts, :max_concurrency, @max_concurrency))),
      {boolean!(name, :io, Keyword.get(opts, :io, false)),
       boolean!(name, :partition, Keyword.get(opts, :partition, false))}
    }
  end

  @doc "Parses how long a turn may take in a beam sponsor, `nil` for any other sponsor; raises `ArgumentError`."
  @spec timeout!(atom, keyword) :: timeout | nil
  def timeout!(name, opts) do
    if opts[:beam] do
      case Keyword.get(opts, :timeout, @timeout) do
        :infinity ->
          :infinity

        ms when is_integer(ms) and ms in 1..0xFFFFFFFF ->
          ms

        other ->
          raise ArgumentError,
                "expected :timeout of sponsor #{inspect(name)} to be a positive number of milliseconds or :infinity, " <>
                  "got: #{inspect(other)}"
      end
    end
  end

  defp known!(name, opts, options, beam?) do
    for {key, _} <- opts, key not in options do
      {init, [last]} = options |> Enum.map(&inspect/1) |> Enum.split(-1)
      {what, other} = if beam?, do: {"beam sponsor", ""}, else: {"sponsor", "; beam: true has others"}

      raise ArgumentError,
            "unknown option #{inspect(key)} of #{what} #{inspect(name)}; there are #{Enum.join(init, ", ")} and " <>
              "#{last}#{other}"
    end
  end

  defp boolean!(_name, _option, on?) when is_boolean(on?), do: on?

  defp boolean!(name, option, other),
    do: expected!("#{inspect(option)} of sponsor #{inspect(name)} to be a boolean", other)

  defp max_concurrency!(_name, n) when is_integer(n) and n in 1..0xFFFFFFFF, do: n

  defp max_concurrency!(name, other),
    do: expected!(":max_concurrency of sponsor #{inspect(name)} to be a positive number of turns", other)

  @doc "Checks the name of a sponsor; raises `ArgumentError`."
  @spec name!(term) :: atom
  def name!(name) when is_atom(name) and name not in [nil, true, false], do: name

  def name!(other), do: expected!("the name of a sponsor to be an atom, such as :main", other)

  @doc "The sponsor that is named in the options of a function; raises `ArgumentError`."
  @spec option!(term, String.t()) :: atom
  def option!([], _function), do: nil
  def option!([sponsor: sponsor], _function) when is_atom(sponsor), do: sponsor

  def option!([sponsor: sponsor], function),
    do: expected!(":sponsor of #{function} to be the name of a sponsor, an atom", sponsor)

  def option!(opts, function), do: expected!("the options of #{function} to be [sponsor: name] or []", opts)

  @doc "Returns how many threads are meant; raises `ArgumentError`, which says what they were to be."
  @spec threads!(term, String.t()) :: pos_integer
  def threads!(:cores, _what), do: System.schedulers_online()
  def threads!(threads, _what) when is_integer(threads) and threads in 1..@most_threads, do: threads

  def threads!(other, what),
    do: expected!("#{what} to be :cores or an integer from 1 to #{@most_threads}", other)

  defp inbox!(_name, :infinity), do: @infinity
  defp inbox!(_name, n) when is_integer(n) and n > 0 and n < @infinity, do: n

  defp inbox!(name, other),
    do: expected!(":inbox of sponsor #{inspect(name)} to be a positive number of events or :infinity", other)

  defp on_full!(_name, policy) when policy in [:error, :wait], do: policy == :wait

  defp on_full!(name, other),
    do: expected!(":on_full of sponsor #{inspect(name)} to be :error or :wait", other)

  defp pin!(_name, false), do: []

  defp pin!(name, true) do
    with [] <- Native.cores() do
      raise ArgumentError,
            "sponsor #{inspect(name)} cannot be pinned: this system does not say which cores there are"
    end
  end

  defp pin!(name, pin) when is_list(pin) and length(pin) > 0 do
    cores = Native.cores()

    case Enum.reject(pin, &(&1 in cores)) do
      [] ->
        pin

      missing ->
        raise ArgumentError,
              "expected :pin of sponsor #{inspect(name)} to list cores that this node may use " <>
                "(#{inspect(cores, charlists: :as_lists)}), got: #{inspect(missing, charlists: :as_lists)}"
    end
  end

  defp pin!(name, other),
    do: expected!(":pin of sponsor #{inspect(name)} to be true, false or a list of cores", other)
end
