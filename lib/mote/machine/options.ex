defmodule Mote.Machine.Options do
  # The options of `Mote.start_link/1`, checked one by one.
  @moduledoc false

  @fuel 10_000_000

  @type t :: %{
          name: nil | atom | {:global, term} | {:via, module, term},
          title: String.t(),
          sponsors: [atom],
          fuel: pos_integer
        }

  @doc "What a machine is started with; raises `ArgumentError`."
  @spec validate!(keyword) :: t
  def validate!(opts) do
    unless Keyword.keyword?(opts) do
      raise ArgumentError, "expected a keyword list of options, got: #{inspect(opts)}"
    end

    known = [name: nil, sponsors: [main: [threads: 1]], fuel: @fuel]

    for {key, _} <- opts, not Keyword.has_key?(known, key) do
      raise ArgumentError,
            "unknown option #{inspect(key)}; the options of a machine are #{list(Keyword.keys(known))}"
    end

    opts = Keyword.merge(known, opts)
    name = name!(opts[:name])

    %{
      name: name,
      title: title(name),
      sponsors: sponsors!(opts[:sponsors]),
      fuel: fuel!(opts[:fuel])
    }
  end

  defp name!(name) when is_atom(name), do: name
  defp name!({:global, _} = name), do: name
  defp name!({:via, module, _} = name) when is_atom(module), do: name

  defp name!(other) do
    raise ArgumentError,
          "expected :name to be an atom, {:global, term} or {:via, module, term}, got: #{inspect(other)}"
  end

  # For the names of threads, which hold no zero bytes.
  defp title(nil), do: "anonymous"
  defp title({:global, name}), do: title(name)
  defp title({:via, _, name}), do: title(name)
  defp title(name), do: name |> inspect() |> String.replace("\0", "")

  defp fuel!(fuel) when is_integer(fuel) and fuel > 0 and fuel < 0x10000000000000000, do: fuel

  defp fuel!(other) do
    raise ArgumentError,
          "expected :fuel to be a positive integer of at most 64 bits (calls and loop steps that one turn may " <>
            "spend), got: #{inspect(other)}"
  end

  defp sponsors!([{name, opts}]) when is_atom(name) and name not in [nil, true, false] do
    threads!(name, opts)
    [name]
  end

  defp sponsors!([_, _ | _] = sponsors) do
    if Keyword.keyword?(sponsors) do
      raise ArgumentError,
            "this version runs one sponsor in a machine, got #{length(sponsors)}: " <>
              "#{list(Keyword.keys(sponsors))}. Start one machine for each"
    else
      bad_sponsors(sponsors)
    end
  end

  defp sponsors!(other), do: bad_sponsors(other)

  defp bad_sponsors(other) do
    raise ArgumentError,
          "expected :sponsors to be a keyword list of names and options, such as [main: [threads: 1]], " <>
            "got: #{inspect(other)}"
  end

  defp threads!(name, opts) do
    unless Keyword.keyword?(opts) do
      raise ArgumentError,
            "expected the options of sponsor #{inspect(name)} to be a keyword list, got: #{inspect(opts)}"
    end

    for {key, _} <- opts, key != :threads do
      raise ArgumentError, "unknown option #{inspect(key)} of sponsor #{inspect(name)}; there is :threads"
    end

    case Keyword.get(opts, :threads, 1) do
      1 ->
        :ok

      other ->
        raise ArgumentError,
              "this version runs a sponsor on one thread: sponsor #{inspect(name)} needs threads: 1, " <>
                "got: #{inspect(other)}"
    end
  end

  defp list(names), do: Enum.map_join(names, ", ", &inspect/1)
end
