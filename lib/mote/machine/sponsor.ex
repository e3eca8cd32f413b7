defmodule Mote.Machine.Sponsor do
  # The options of one sponsor, checked: how many threads it has, and on which cores they run.
  @moduledoc false

  alias Mote.Native

  # What the machine numbers its threads with.
  @most_threads 1024

  @typedoc "Name, threads, and the cores that these are bound to, in turn; no cores: not bound."
  @type t :: {atom, pos_integer, [non_neg_integer]}

  @doc "What a sponsor is started with; raises `ArgumentError`."
  @spec validate!(atom, keyword) :: t
  def validate!(name, opts) do
    name!(name)

    unless Keyword.keyword?(opts) do
      raise ArgumentError,
            "expected the options of sponsor #{inspect(name)} to be a keyword list, got: #{inspect(opts)}"
    end

    for {key, _} <- opts, key not in [:threads, :pin] do
      raise ArgumentError,
            "unknown option #{inspect(key)} of sponsor #{inspect(name)}; there are :threads and :pin"
    end

    {name, threads!(name, Keyword.get(opts, :threads, 1)), pin!(name, Keyword.get(opts, :pin, false))}
  end

  @doc "Checks the name of a sponsor; raises `ArgumentError`."
  @spec name!(term) :: atom
  def name!(name) when is_atom(name) and name not in [nil, true, false], do: name

  def name!(other) do
    raise ArgumentError, "expected the name of a sponsor to be an atom, such as :main, got: #{inspect(other)}"
  end

  @doc "The sponsor that is named in the options of a function; raises `ArgumentError`."
  @spec option!(term, String.t()) :: atom
  def option!([], _function), do: nil
  def option!([sponsor: sponsor], _function) when is_atom(sponsor), do: sponsor

  def option!(opts, function) do
    raise ArgumentError,
          "expected the options of #{function} to be [sponsor: name] or [], got: #{inspect(opts)}"
  end

  defp threads!(_name, :cores), do: System.schedulers_online()
  defp threads!(_name, threads) when is_integer(threads) and threads in 1..@most_threads, do: threads

  defp threads!(name, other) do
    raise ArgumentError,
          "expected :threads of sponsor #{inspect(name)} to be :cores or an integer from 1 to #{@most_threads}, " <>
            "got: #{inspect(other)}"
  end

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

  defp pin!(name, other) do
    raise ArgumentError,
          "expected :pin of sponsor #{inspect(name)} to be true, false or a list of cores, " <>
            "got: #{inspect(other)}"
  end
end
