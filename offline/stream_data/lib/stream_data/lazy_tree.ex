defmodule StreamData.LazyTree do
  @moduledoc false
  # A generated value together with the simpler values it may shrink to, simplest first, each again with its
  # own. Children are computed when somebody looks at them, so that a value that needs no shrinking costs none.

  defstruct [:root, children: []]

  @type t(a) :: %__MODULE__{root: a, children: Enumerable.t()}

  @spec constant(a) :: t(a) when a: var
  def constant(root), do: %__MODULE__{root: root}

  @spec map(t(a), (a -> b)) :: t(b) when a: var, b: var
  def map(%__MODULE__{root: root, children: children}, fun) do
    %__MODULE__{root: fun.(root), children: Stream.map(children, &map(&1, fun))}
  end

  # fun returns {:cont, value} or :skip. A skipped child takes its subtree with it.
  @spec map_filter(t(a), (a -> {:cont, b} | :skip)) :: {:ok, t(b)} | :error when a: var, b: var
  def map_filter(%__MODULE__{root: root, children: children}, fun) do
    case fun.(root) do
      {:cont, mapped} -> {:ok, %__MODULE__{root: mapped, children: map_filter_children(children, fun)}}
      :skip -> :error
    end
  end

  defp map_filter_children(children, fun) do
    Stream.flat_map(children, fn child ->
      case map_filter(child, fun) do
        {:ok, tree} -> [tree]
        :error -> []
      end
    end)
  end

  # A tree of trees: first simplify what the inner generator was chosen by, then the inner value itself.
  @spec flatten(t(t(a))) :: t(a) when a: var
  def flatten(%__MODULE__{root: inner, children: outer}) do
    %__MODULE__{root: inner.root, children: Stream.concat(Stream.map(outer, &flatten/1), inner.children)}
  end

  # One tree of lists: each place shrinks by itself, the first places first.
  @spec zip([t(a)]) :: t([a]) when a: var
  def zip(trees) do
    %__MODULE__{root: Enum.map(trees, & &1.root), children: places(trees, &zip/1)}
  end

  # Like zip/1, but before that elements go: half of the list at once, then quarters, at last single ones. A long
  # list of commands loses what does not matter in a few steps.
  @spec list([t(a)], non_neg_integer) :: t([a]) when a: var
  def list(trees, min_length) do
    rebuild = &list(&1, min_length)
    shorter = trees |> cuts(length(trees), min_length) |> Stream.map(rebuild)
    %__MODULE__{root: Enum.map(trees, & &1.root), children: Stream.concat(shorter, places(trees, rebuild))}
  end

  defp places([], _rebuild), do: []

  defp places(trees, rebuild) do
    Stream.flat_map(0..(length(trees) - 1), fn place ->
      {before, [tree | later]} = Enum.split(trees, place)
      Stream.map(tree.children, &rebuild.(before ++ [&1 | later]))
    end)
  end

  defp cuts(_trees, count, min_length) when count <= min_length, do: []

  defp cuts(trees, count, min_length) do
    (count - min_length)
    |> Stream.iterate(&div(&1, 2))
    |> Stream.take_while(&(&1 > 0))
    |> Stream.flat_map(fn width ->
      0
      |> Stream.iterate(&(&1 + width))
      |> Stream.take_while(&(&1 + width <= count))
      |> Stream.map(fn from -> Enum.take(trees, from) ++ Enum.drop(trees, from + width) end)
    end)
  end

  # Towards `target` by halving the distance: a search by bisection when the greedy descent walks it.
  @spec integer(integer, integer) :: t(integer)
  def integer(value, target) do
    children =
      (value - target)
      |> Stream.iterate(&div(&1, 2))
      |> Stream.take_while(&(&1 != 0))
      |> Stream.map(&integer(value - &1, target))

    %__MODULE__{root: value, children: children}
  end
end
