defmodule Mote.Prelude.Kernel do
  # Functions of Kernel that are not primitives, under other names, so that nobody confuses them with those.
  @moduledoc false
  use Mote.Behaviour, import: [Kernel]

  require Mote.Prelude

  alias Mote.Prelude.Access
  alias Mote.Prelude.Integer, as: Whole
  alias Mote.Prelude.{Places, Text}

  defpure put_inside(container, [step | _] = keys, value) when is_function(step, 3),
    do: elem(changed(container, keys, fn _ -> {nil, value} end), 1)

  defpure put_inside(container, [key], value), do: Access.put(container, key, value)

  defpure put_inside(container, [key | rest], value),
    do: Access.put(container, key, put_inside(Access.held(container, key), rest, value))

  # `update_in` and `get_and_update_in` of keys with functions among them, such as `Access.all/0` returns: they go on by themselves.
  defpure updated(container, [_ | _] = keys, fun) when is_function(fun),
    do: elem(changed(container, keys, &{nil, fun.(&1)}), 1)

  defpure changed(container, [step], fun) when is_function(step, 3),
    do: step.(:get_and_update, container, fun)

  defpure changed(container, [step | rest], fun) when is_function(step, 3),
    do: step.(:get_and_update, container, &changed(&1, rest, fun))

  defpure changed(container, [key], fun), do: Access.changed(container, key, fun)

  defpure changed(container, [key | rest], fun),
    do: Access.changed(container, key, &changed(&1, rest, fun))

  # Elixir's own needs three times as long for a small power.
  defpure power(base, exponent) when is_integer(base) and is_integer(exponent) and exponent >= 0,
    do: Whole.pow(base, exponent)

  defpure power(base, exponent), do: :math.pow(base, exponent)

  # `text =~ part`
  defpure matches?(text, "") when is_binary(text), do: true

  defpure matches?(text, part) when is_binary(text) and is_binary(part),
    do: Places.found(text, part, 0) != nil

  defpure matches?(text, regex) when is_binary(text), do: Mote.Prelude.Regex.matched?(regex, text)

  # `to_string/1` of what is a list.
  defpure text(list), do: Text.of_list(list)

  defpure slice(binary, first..last//step) when is_binary(binary) and step > 0 do
    total = byte_size(binary)
    first = if first < 0, do: max(total + first, 0), else: first
    last = if last < 0, do: total + last, else: last
    part = if first > last or first >= total, do: "", else: binary_slice(binary, first, last - first + 1)
    if step == 1, do: part, else: every(part, step, 0, [])
  end

  defpure every(part, step, at, bytes) do
    if at < byte_size(part),
      do: every(part, step, at + step, [binary_part(part, at, 1) | bytes]),
      else: Text.joined(Enum.reverse(bytes), "")
  end

  # The elements of a list, as many as there are variables for: `destructure`.
  defpure elements(nil, n), do: copies(n, [])
  defpure elements(list, n) when is_list(list), do: elements(list, n, [])

  defpure elements(_, 0, done), do: Enum.reverse(done)
  defpure elements([x | rest], n, done), do: elements(rest, n - 1, [x | done])
  defpure elements([], n, done), do: Enum.reverse(done) ++ copies(n, [])

  defpure copies(0, done), do: done
  defpure copies(n, done), do: copies(n - 1, [nil | done])

  Mote.Prelude.released()
end
