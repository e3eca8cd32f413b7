defmodule Mote.Move.Ways do
  # What an actor is while it moves, and from then on.
  #
  # 1. Of the first two, neither is safe, though both stay what they are: turns of safe behaviours may run on several threads at once, and messages
  #    would overtake each other.
  @moduledoc false

  use Mote.Behaviour

  # Keeps everything until it goes on. Made by the machine, which also knows its captures: native/mote_vm/src/machine/moving.rs.
  @doc false
  defactor held(was, id, holder) do
    {Mote.Move, ^id, ^holder} when false -> become onward(was)
    _ -> stash()
  end

  # The old address of an actor that has moved. Whoever moves it hears by the new way when all that had waited has passed, and which
  # way that was.
  @doc false
  defactor onward(to) do
    {customer, {Mote.Move, :passed, witness}} ->
      send witness, {customer, to}
      become onward(to)

    message ->
      send to, message
  end

  # Where actors have been, one that tells when all that had waited for them has passed: asked for their old addresses, it has another
  # one ask each of them, and then by the way that they send on. It keeps no customer, for whoever waits has its address: the loss of
  # an answer would never be noticed.
  @doc false
  defactor passing(witness) do
    {customer, addresses} ->
      hearing = create(hearing(length(addresses), customer, witness))
      Enum.each(addresses, &send(&1, {nil, {Mote.Move, :passed, hearing}}))
  end

  @doc false
  defactor hearing(left, customer, witness) do
    {nil, to} ->
      if left == 1, do: send(witness, {customer, to}), else: become(hearing(left - 1, customer, witness))
  end

  # Where an actor moves to, one more that tells what has come by that way.
  @doc false
  defactor witness() do
    {customer, to} -> send customer, to
  end
end
