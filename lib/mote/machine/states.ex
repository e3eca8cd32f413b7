defmodule Mote.Machine.States do
  # The states of all actors of a machine, part by part, as `Mote.fold/5` needs them.
  #
  # 1. A place says where the next part begins; the machine makes it and nobody else reads it. Every actor that is alive from the
  #    collection before the first part to the last part is in one of them, and none is in two.
  # 2. A part is seen by the calling process while threads sleep, and otherwise by the thread that the place names, between two turns.
  #    Actors that go from thread to thread meanwhile are seen while everything stands still.
  @moduledoc false

  alias Mote.{Address, Error, Inspection, Native}
  alias Mote.Machine.Question

  @typedoc "The module and the name of behaviours, `nil` for any."
  @type filter :: {module | nil, atom}

  @doc "Folds over the states of actors."
  @spec fold(reference, Mote.Machine.t(), filter, acc, (tuple, acc -> acc), timeout) :: acc when acc: term
  def fold(native, machine, filter, acc, fun, timeout),
    do: here("", acc, {native, machine, filter, fun, timeout})

  defp here(place, acc, {native, machine, {module, name}, _, _} = how) do
    case Native.fold_here(native, place, module, name) do
      {_states, _place, _end} = part -> seen(part, acc, how)
      word -> raise Error.from(word, machine: machine)
    end
  end

  defp there(place, still?, acc, {native, machine, {module, name}, _, timeout} = how) do
    ask = &Native.fold_there(native, place, module, name, still?, &1)

    case Question.put(native, timeout, [machine: machine, survey: true], ask) do
      {:ok, part} -> seen(part, acc, how)
      {:error, error} -> raise error
    end
  end

  defp seen({states, place, ends}, acc, {_, _, filter, fun, _} = how) do
    acc = states(states, acc, filter, fun)

    case ends do
      :ended -> acc
      :more -> here(place, acc, how)
      :busy -> there(place, false, acc, how)
      :standing -> there(place, true, acc, how)
    end
  end

  # The actor holds much.
  defp states([%Address{} = address | rest], acc, {_, name} = filter, fun) do
    case Inspection.peek(address) do
      # It may have become something else meanwhile.
      {:ok, state} when name in [nil, elem(state, 0)] -> states(rest, fun.(state, acc), filter, fun)
      {:ok, _other} -> states(rest, acc, filter, fun)
      {:error, error} -> raise error
    end
  end

  defp states([state | rest], acc, filter, fun), do: states(rest, fun.(state, acc), filter, fun)
  defp states([], acc, _filter, _fun), do: acc
end
