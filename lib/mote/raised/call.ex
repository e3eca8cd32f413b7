defmodule Mote.Raised.Call do
  # The operation that had no answer, as it is written in Elixir.
  @moduledoc false

  alias Mote.Behaviour.Primitives
  alias Mote.Raised.{Printed, Segments}

  @infix %{add: "+", sub: "-", mul: "*", fdiv: "/", append: "++", subtract: "--", member: "in"}

  @doc "Returns whether a function makes what ends a process in Elixir: the exception says it all."
  defguard is_end(module, name)
           when name == :exception or (module == Kernel.Utils and name == :raise) or
                  (module == :erlang and name in [:error, :throw, :exit, :nif_error])

  @doc "The call of an operation with these arguments; or the value that has fitted nothing."
  @spec written(Mote.Raised.operation(), arguments :: tuple) :: String.t()
  def written(operation, arguments)

  def written(operation, {a, b}) when is_map_key(@infix, operation),
    do: "#{show(a)} #{@infix[operation]} #{show(b)}"

  def written({:function_clause, {Mote.Behaviour, name}, _}, _), do: to_string(name)
  def written({:function_clause, {module, name}, arity}, _), do: "#{inspect(module)}.#{name}/#{arity}"

  def written({:function_clause, name, arity}, {arguments}) do
    cond do
      anonymous?(name) and arity == 1 -> "(#{show(arguments)})"
      anonymous?(name) -> called("", arguments)
      is_tuple(arguments) and tuple_size(arguments) == arity -> called(name, arguments)
      true -> show(arguments)
    end
  end

  def written({module, name}, _) when is_end(module, name), do: ""

  def written({Kernel, :**}, {a, b}), do: "#{show(a)} ** #{show(b)}"

  def written({module, name}, arguments) do
    {name, arguments} = library(name, Tuple.to_list(arguments))
    called(if(module == Kernel, do: name, else: "#{inspect(module)}.#{name}"), List.to_tuple(arguments))
  end

  def written(operation, {value}) when operation in [:badmatch, :case_clause, :with_clause, :try_clause],
    do: show(value)

  def written(operation, {}) when operation == :cond_clause or is_exception(operation), do: ""
  def written(:apply, {function}), do: show(function)

  def written(:apply, {function, arguments}),
    do: called("#{show(Mote.Function.named(function))}.", List.to_tuple(arguments))

  def written(:range, {a, b}), do: "#{show(a)}..#{show(b)}"
  def written(:range, {a, b, step}), do: "#{show(a)}..#{show(b)}//#{show(step)}"
  def written(:neg, {a}), do: "-#{show(a)}"
  def written(:map_field, {map, key}), do: "#{show(map)}.#{key}"

  def written(:bin_of, {values, specs}),
    do: "<<#{values |> Segments.values(specs) |> Enum.map_join(", ", &show/1)}>>"

  def written(:vec_map2, {name, a, b}), do: called("Mote.Vector.#{name}", {a, b})
  def written(:map_update, {map, key, value}), do: "%{#{show(map)} | #{show(key)} => #{show(value)}}"

  def written(operation, arguments) do
    name =
      case Primitives.spelling(operation) do
        {module, name} -> "#{inspect(module)}.#{name}"
        name -> "#{name || operation}"
      end

    called(name, arguments)
  end

  defp anonymous?(name), do: name |> to_string() |> String.starts_with?("-")

  defp called(name, arguments), do: "#{name}(#{arguments |> Tuple.to_list() |> Enum.map_join(", ", &show/1)})"

  @doc """
  The function and the arguments of a call of Elixir's library as they are written. The operation may have others: a range
  that is written in place is not made, and lists are collected backwards.
  """
  @spec library(name :: atom, arguments :: [term]) :: {name :: atom, [term]}
  def library(:slice_range, [source, first, last | step]),
    do: {:slice, [source, range_of(first, last, step)]}

  def library(:concat_all, [lists, []]) when is_list(lists), do: {:concat, [Enum.reverse(lists)]}
  def library(:inspect, [term, [], _structs]), do: {:inspect, [term]}
  def library(:inspect, [term, options, _structs]), do: {:inspect, [term, options]}
  def library(name, arguments), do: {name, arguments}

  defp range_of(first, last, []), do: %Range{first: first, last: last, step: 1}
  defp range_of(first, last, [step]), do: %Range{first: first, last: last, step: step}

  @doc "A value in a message, not longer than somebody reads."
  @spec show(term) :: String.t()
  def show(term), do: Printed.term(term, limit: 5, printable_limit: 100)
end
