defmodule Mote.Replay.Difference do
  # Where changed code first does something else with the inputs of a recording: two machines, one with the recorded code and one with the
  # changed one, whose turns are compared one by one.
  #
  # 1. Turns are compared by what they were given and what they have done: addresses, by the keys that the outside has; code, by the names of
  #    behaviours and functions. Two machines of one recording give the same keys as long as they do the same.
  @moduledoc false

  alias Mote.{Error, Native}
  alias Mote.Machine.Loader
  alias Mote.Replay.Stage
  alias Mote.Trace.Turn

  # Turns that are compared at once.
  @at_once 2_000

  @type difference :: %{turn: pos_integer, recorded: Turn.t() | nil, changed: Turn.t() | nil}

  @doc "Runs both from the beginning, up to a number of turns."
  @spec first(Stage.source(), [module], pos_integer) :: {:ok, difference} | :none | {:error, Error.t()}
  def first(source, modules, turns) do
    units =
      for module <- modules,
          {:ok, [hash, unit]} <- [Loader.about(module, [:hash, :unit])],
          do: {module, hash, unit}

    first = %{path: source.recording.image, place: {0, 0}, mark: ""}
    changed = %{source | file: Native.replay_changed(source.file, units), changed: modules}

    with {:ok, one} <- Stage.start(source, first) do
      try do
        with {:ok, other} <- Stage.start(changed, first) do
          try do
            compare(one, other, turns)
          after
            Stage.stop(other)
          end
        end
      after
        Stage.stop(one)
      end
    end
  end

  defp compare(one, other, turns) do
    %{place: {from, _}} = one
    to = min(from + @at_once, turns)

    with {:ok, one, over?, seen} <- turns(one, to) do
      {others, other} =
        case turns(other, to) do
          {:ok, other, _over?, seen} -> {seen, other}
          # It cannot go on as the recorded one did: its last turn was another one, or there are fewer of them.
          {:error, _error, seen} -> {seen, nil}
        end

      cond do
        found = different(seen, others, from + 1) -> {:ok, found}
        over? or to == turns or other == nil -> :none
        true -> compare(one, other, turns)
      end
    else
      {:error, error, _seen} -> {:error, error}
    end
  end

  defp different([], [], _turn), do: nil

  defp different(seen, others, turn) do
    {one, seen} = List.pop_at(seen, 0)
    {other, others} = List.pop_at(others, 0)

    if one && other && plain(one) == plain(other),
      do: different(seen, others, turn + 1),
      else: %{turn: turn, recorded: one, changed: other}
  end

  # Runs to a number of turns, and returns these.
  defp turns(%Stage{native: native} = stage, to) do
    ref = make_ref()
    number = Native.machine_trace(native, {nil, nil, nil, nil, nil}, {self(), ref}, @at_once + 1)
    ran = Stage.run(stage, {to, 0, Stage.all()})
    Native.machine_trace_end(native, number)
    seen = shown(ref, [])

    case ran do
      {:ok, stage, over?, nil} -> {:ok, stage, over? and length(seen) < @at_once, seen}
      {:error, error} -> {:error, error, seen}
    end
  end

  defp shown(ref, turns) do
    receive do
      {:mote_trace, ^ref, %Turn{} = turn} -> shown(ref, [turn | turns])
    after
      0 -> Enum.reverse(turns)
    end
  end

  # What is compared of a turn.
  defp plain(%Turn{} = turn), do: turn |> Map.from_struct() |> Map.drop([:number, :fuel]) |> plain()
  defp plain(%Mote.Customer{}), do: :customer

  defp plain(%{__struct__: struct} = term),
    do: {struct, term |> Map.from_struct() |> Map.drop([:machine, :version]) |> plain()}

  defp plain(%{} = map), do: Map.new(map, fn {key, value} -> {plain(key), plain(value)} end)
  defp plain(tuple) when is_tuple(tuple), do: tuple |> Tuple.to_list() |> plain() |> List.to_tuple()
  defp plain([head | tail]), do: [plain(head) | plain(tail)]
  defp plain(other), do: other
end
