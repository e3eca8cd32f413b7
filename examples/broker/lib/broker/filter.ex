defmodule Broker.Filter do
  # Names of topics, and filters with wildcards (chapter 4.7 of the standards).
  #
  # Invariant: a name or a filter has between 1 and 200 levels. So nobody makes a path of 65,536 actors with one packet.
  @moduledoc false
  use Mote.Behaviour

  @most_levels 200

  @doc "The levels of a topic's name, or the reason code that says what is wrong with it."
  defpure topic(""), do: {:error, 0x82}

  defpure topic(name) do
    with :nomatch <- :binary.match(name, ["+", "#"]), {:ok, levels} <- levels(name) do
      {:ok, levels}
    else
      _ -> {:error, 0x90}
    end
  end

  @doc """
  The levels of a filter, and the group that shares the subscription, or `nil`.

      iex> Broker.Filter.filter("sport/+/player1")
      {:ok, nil, ["sport", "+", "player1"]}
      iex> Broker.Filter.filter("$share/workers/jobs/#")
      {:ok, "workers", ["jobs", "#"]}
      iex> for filter <- ["", "a/#/b", "a+", "$share/workers", "$share//a", "$share/a+/b"], do: Broker.Filter.filter(filter)
      [:error, :error, :error, :error, :error, :error]
  """
  defpure filter("$share/" <> shared) do
    with [group, filter] when group != "" <- String.split(shared, "/", parts: 2),
         {:ok, [_]} <- topic(group),
         {:ok, nil, levels} <- filter(filter) do
      {:ok, group, levels}
    else
      _ -> :error
    end
  end

  defpure filter(""), do: :error

  defpure filter(filter) do
    with {:ok, levels} <- levels(filter) do
      if places?(levels), do: {:ok, nil, levels}, else: :error
    end
  end

  defpurep levels(name) do
    levels = String.split(name, "/")
    if length(levels) <= @most_levels, do: {:ok, levels}, else: :error
  end

  # Wildcards take a whole level, and "#" is the last one.
  defpurep places?([]), do: true
  defpurep places?(["#"]), do: true
  defpurep places?(["+" | rest]), do: places?(rest)
  defpurep places?([level | rest]), do: :binary.match(level, ["+", "#"]) == :nomatch and places?(rest)
end
