defmodule Mote.Prelude.Queue do
  # Functions of Erlang's `:queue`, on the values that it makes: `{rear, front}`, two lists of which the rear one is
  # reversed. So a queue goes into a machine and out of it, and both sides can use it.
  #
  # When one of the lists has run out, half of the other one takes its place: a queue that is used at both ends is
  # amortised O(1), too.
  @moduledoc false
  use Mote.Behaviour

  defpure new(), do: {[], []}

  defpure is_queue({rear, front}) when is_list(rear) and is_list(front), do: true
  defpure is_queue(_), do: false

  defpure is_empty({[], []}), do: true
  defpure is_empty({rear, front}) when is_list(rear) and is_list(front), do: false

  defpure len({rear, front}), do: length(rear) + length(front)
  defpure to_list({rear, front}), do: front ++ Enum.reverse(rear)

  defpure from_list(list) do
    {front, rear} = Enum.split(list, div(length(list), 2))
    {Enum.reverse(rear), front}
  end

  defpure push(x, {[_] = rear, []}), do: {[x], rear}
  defpure push(x, {rear, front}) when is_list(rear) and is_list(front), do: {[x | rear], front}

  defpure out({[], []}), do: {:empty, {[], []}}
  defpure out({rear, [x]}), do: {{:value, x}, halved(rear)}
  defpure out({rear, [x | front]}) when is_list(rear), do: {{:value, x}, {rear, front}}
  defpure out({rear, []}), do: out(halved(rear))

  # The queue of a rear alone. One that is left stands in front.
  defpure halved(rear) do
    {rear, front} = Enum.split(rear, div(length(rear), 2))
    {rear, Enum.reverse(front)}
  end

  defpure peek({[], []}), do: :empty
  defpure peek({rear, []}), do: {:value, List.last(rear)}
  defpure peek({rear, [x | _]}) when is_list(rear), do: {:value, x}

  defpure get(queue) do
    {:value, x} = peek(queue)
    x
  end

  defpure drop(queue) do
    {{:value, _}, queue} = out(queue)
    queue
  end

  defpure reverse({rear, front}) when is_list(rear) and is_list(front), do: {front, rear}

  defpure in_r(x, queue), do: reverse(push(x, reverse(queue)))
  defpure peek_r(queue), do: peek(reverse(queue))
  defpure get_r(queue), do: get(reverse(queue))
  defpure drop_r(queue), do: reverse(drop(reverse(queue)))

  defpure out_r(queue) do
    {x, queue} = out(reverse(queue))
    {x, reverse(queue)}
  end

  defpure member(x, {rear, front}) when is_list(rear) and is_list(front), do: x in front or x in rear

  defpure join({rear, front} = queue, {[], []}) when is_list(rear) and is_list(front), do: queue
  defpure join({[], []}, {rear, front} = queue) when is_list(rear) and is_list(front), do: queue

  defpure join({rear, front}, {rear2, front2}) when is_list(rear2) and is_list(front2),
    do: {rear2, front ++ Enum.reverse(rear) ++ front2}
end
