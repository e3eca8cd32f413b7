defmodule Mote.Imported.Item do
  @moduledoc "What is bought, for tests of functions that are written in plain Elixir."
  @enforce_keys [:name]
  defstruct [:name, price: 0, count: 1]

  defimpl String.Chars do
    def to_string(%{name: name, count: count}), do: "#{count} x #{name}"
  end
end

defmodule Mote.Imported.Secret do
  @moduledoc "Shows a part of itself."
  @derive {Inspect, except: [:secret], optional: [:size]}
  defstruct [:secret, :id, size: 0]
end

defmodule Mote.Imported.Bag do
  @moduledoc "Shows itself in its own way."
  defstruct items: [], name: nil

  defimpl Inspect do
    import Inspect.Algebra

    def inspect(%{items: items, name: name}, opts) when is_list(items) do
      open = if name, do: concat(["#Bag<", Kernel.inspect(name), " "]), else: "#Bag<"
      container_doc(open, items, ">", opts, &to_doc/2, separator: ";", break: :flex)
    end
  end
end

defmodule Mote.Imported.Tax do
  @moduledoc "Rates. One of the modules that `Mote.Imported.Pricing` calls."
  @rates %{de: 19, fr: 20}

  def rate(country), do: @rates[country] || raise(ArgumentError, "no rate of #{inspect(country)}")
  def kind, do: :tax
  def with_tax(sum, country), do: sum + div(sum * rate(country), 100)
end

defmodule Mote.Imported.Later do
  @moduledoc "Calls what `in` has become in Elixir 1.20, also where Elixir is older and has no such function."
  @compile {:no_warn_undefined, {Enum, :__in__, 2}}
  def within(value, source), do: Enum.__in__(value, source)
end

defmodule Mote.Imported.Tree do
  @moduledoc "Can be gone through, and cleans up."
  defstruct [:left, :value, :right]

  defimpl Enumerable do
    def reduce(tree, acc, fun), do: walk([tree], acc, fun)

    defp walk(_, {:halt, acc}, _), do: {:halted, acc}
    defp walk(rest, {:suspend, acc}, fun), do: {:suspended, acc, &walk(rest, &1, fun)}
    defp walk([], {:cont, acc}, _), do: {:done, acc}
    defp walk([nil | rest], acc, fun), do: walk(rest, acc, fun)
    defp walk([{:value, x} | rest], {:cont, acc}, fun), do: walk(rest, fun.(x, acc), fun)

    defp walk([%{left: l, value: x, right: r} | rest], acc, fun),
      do: walk([l, {:value, x}, r | rest], acc, fun)

    def count(_), do: {:error, __MODULE__}
    def member?(_, _), do: {:error, __MODULE__}
    def slice(_), do: {:error, __MODULE__}
  end

  def again(x) do
    try do
      hd(x)
    rescue
      error -> reraise error, __STACKTRACE__
    end
  end

  def at_the_end(x) do
    try do
      {:ok, hd(x)}
    after
      length(x)
    end
  end

  def other(x) do
    try do
      hd(x)
    rescue
      ArgumentError -> raise KeyError, key: x, term: x
    end
  end
end

defmodule Mote.Imported.Date do
  @moduledoc "Has the end of its name in common with a module of the library."
  def new(year, month, day), do: {year, month, day}
end

defmodule Mote.Imported.Pricing do
  @moduledoc "Plain Elixir of all kinds, as people write it."
  require Integer
  alias Mote.Imported.{Item, Tax}

  @steps [{100, 10}, {10, 5}, {0, 0}]

  def total(cart, opts \\ []) do
    country = Keyword.get(opts, :country)

    sum =
      for %Item{price: price, count: count} when count > 0 <- cart,
          reduce: 0,
          do: (sum -> sum + price * count)

    sum = sum - discount(sum)
    if country && sum != 0, do: Tax.with_tax(sum, country), else: sum
  end

  defp discount(sum) do
    {_, percent} = Enum.find(@steps, fn {least, _} -> sum >= least end)
    div(sum * percent, 100)
  end

  def label(%Item{count: count} = item) when count in 1..3 or count == nil,
    do: "#{item.name}: " <> price(item)

  def label(%Item{} = item), do: unless(item.count == 0, do: "many of " <> item.name)

  defp price(%{price: price}) when is_float(price), do: :erlang.float_to_binary(price, [:short])
  defp price(%{price: price}), do: "#{price}.-"

  def parity(n) do
    cond do
      Integer.is_even(n) and n > 0 -> :even
      n > 0 or n == -1 -> :odd
      !n -> :nothing
      true -> :other
    end
  end

  def sorted(items), do: items |> Enum.sort_by(&{&1.price, &1.name}) |> Enum.map(&named/1) |> Enum.join(", ")
  defp named(%{name: name}), do: String.upcase(name)

  def parsed(line) do
    with [name, price | rest] <- String.split(line, ";"),
         {price, ""} <- Integer.parse(price),
         count = length(rest) do
      {:ok, %Item{name: name, price: price, count: count}}
    else
      [_] -> {:error, :short}
      {_, rest} -> {:error, rest}
      :error -> {:error, line}
    end
  end

  def cheaper(%Item{} = item, by), do: %Item{item | price: item.price - by}
  def field(map), do: map.name
  def flag(map), do: map[:a] && (map[:b] || :no)
  def header(<<kind::4, size::4, rest::binary-size(size), _::binary>>), do: {kind, rest}
  def bytes(text), do: for(<<byte <- text>>, byte > ?a, into: "", do: <<byte + 1, 0::16-little>>)
  # Sorted, as the order of a map is not the same everywhere.
  def pairs(map), do: Enum.sort(for {key, values} <- map, value <- values, uniq: true, do: {key, value})
  def adder(n), do: fn x -> x + n end
  def twice(fun, x), do: x |> fun.() |> fun.()
  def named(items, name), do: Enum.filter(items, &match?(%{name: ^name}, &1))
  def negated(x), do: not x
  def both(a, b), do: a and b
  def depth([head | tail]), do: max(depth(head) + 1, depth(tail))
  def depth(_), do: 0
  def kind(thing), do: thing.kind()
  def of_module(module, country), do: module.rate(country)
  def refused(x), do: raise("#{x} is refused")
  def thrown(x), do: throw({:thrown, x})
  def defaults(a, b \\ 2, c \\ 3), do: a * 100 + b * 10 + c
  defp hidden(x), do: x
  def shown(x), do: hidden(x)

  def told(value), do: "it is #{value}"

  def ordered(dates) do
    {Enum.sort(dates, Date), Enum.sort_by(dates, & &1, {:desc, Date}), Enum.max(dates, Date),
     Enum.min_by(dates, & &1, Date)}
  end

  def five(value) do
    case value do
      false -> false
      true -> 5
    end
  end

  def any(value) do
    case value do
      false -> 5
      true -> true
    end
  end

  # Texts that show terms.
  def listed(xs),
    do:
      raise(
        ArgumentError,
        "#{Enum.map_join(xs, ", ", fn x -> inspect(x) end)}: #{inspect(xs)}, #{inspect(xs)}"
      )

  def chosen(xs, limit) do
    raise ArgumentError,
          Enum.join([
            for({x, n} when n > limit <- xs, do: inspect({x, n})),
            for({_x, n} <- xs, do: inspect(n)),
            case xs do
              [{x, ^limit} | _] -> inspect(x)
              x -> "no " <> inspect({x, limit})
            end,
            cond do
              xs == limit -> "same"
              limit -> "other"
            end
          ])
  end

  def letters(text), do: raise(ArgumentError, "#{for <<a, b <- text>>, do: inspect({a, b})}")
  def hinted(x), do: raise(ArgumentError, "#{inspect(x)}: #{hint(x)}, #{hint({x, x})}")
  defp hint(x) when is_tuple(x), do: "#{tuple_size(x)} parts"
  defp hint(_), do: "no tuple"
  def thrown_text(x), do: throw(inspect(x))
  def unsure(x), do: raise(ArgumentError, "#{inspect(x)} #{if x == [], do: hint(x)}")

  # Not for machines.
  def waits(x), do: x |> shown() |> waiting()

  defp waiting(x) do
    receive do
      ^x -> x
    end
  end

  def rescued(x) do
    String.to_integer(x)
  rescue
    ArgumentError -> 0
  end

  def own_process, do: self()
  def known(module), do: if(function_exported?(module, :rate, 1), do: module.rate(:de), else: :none)
  def exported(module, name), do: function_exported?(module, name, 1)
  def elsewhere(x), do: Mote.Imported.Item.__struct__(x)
end

defmodule Mote.Imported.Tries do
  # What a `try` of a module in plain Elixir comes to.
  @moduledoc false

  def number(text) do
    String.to_integer(text)
  rescue
    ArgumentError -> :none
  end

  def message(x) do
    checked(x)
  rescue
    e in RuntimeError -> e.message
    e in ArgumentError -> reraise e, __STACKTRACE__
  end

  defp checked(1), do: raise("one")
  defp checked(2), do: raise(ArgumentError, "two")
  defp checked(3), do: throw(:three)
  defp checked(4), do: exit(:four)
  defp checked(x), do: x

  def any(x) do
    try do
      {:ok, checked(x)}
    catch
      kind, value when kind in [:throw, :exit] -> {kind, value}
      :error, %{message: text} -> {:error, text}
    else
      {:ok, []} -> :empty
      {:ok, y} -> {:some, y}
    after
      length([x])
    end
  end
end
