defmodule Mote.Bench.Programs.Savina.RecursiveMatmul do
  # Recursive multiplication of matrices of the Savina suite (`recmatmul`: 1,024², blocks of 16,384 numbers): a product is left to
  # eight more actors, of quarters, until the quarters are blocks of 16 × 16. Savina's workers share arrays; here a matrix is
  # a tree of quarters, of which messages hold parts, and one of 256²: 1,024² take processes most of a minute.
  @moduledoc false

  @block 16

  use Mote.Bench.Program,
    title: "the product of two matrices of n × n numbers, 16 times a power of two, by quarters",
    param: :n,
    defaults: [256],
    small: 32,
    metric: :ns_per_product,
    # Of numbers.
    count: &(&1 * &1 * &1),
    processes: &(2 * Integer.pow(div(&1, @block), 3))

  defmodule Actors do
    use Mote.Behaviour

    # The place of the product among the eight: that of its quarter, and which of the two of it.
    defactor multiplier(customer, quarter) do
      {{:block, rows}, {:block, columns}} ->
        send customer,
             {quarter,
              {:block, for(row <- rows, do: for(column <- columns, do: Mote.Vector.dot(row, column)))}}

      {{a, b, c, d}, {e, f, g, h}} ->
        products = [{0, a, e}, {0, b, g}, {1, a, f}, {1, b, h}, {2, c, e}, {2, d, g}, {3, c, f}, {3, d, h}]
        for {place, left, right} <- products, do: send(create(multiplier(self(), place)), {left, right})
        become adder(customer, quarter, {nil, nil, nil, nil}, 8)
    end

    defactor adder(customer, quarter, sums, left) do
      {place, product} ->
        sums = put_elem(sums, place, add(elem(sums, place), product))
        if left == 1, do: send(customer, {quarter, sums}), else: become(sums: sums, left: left - 1)
    end

    defpure add(nil, product), do: product
    defpure add({:block, ones}, {:block, others}), do: {:block, rows(ones, others)}
    defpure add({a, b, c, d}, {e, f, g, h}), do: {add(a, e), add(b, f), add(c, g), add(d, h)}

    defpure rows([one | ones], [other | others]), do: [row(one, other) | rows(ones, others)]
    defpure rows([], []), do: []
    defpure row([one | ones], [other | others]), do: [one + other | row(ones, others)]
    defpure row([], []), do: []
  end

  defmodule Processes do
    @spec multiplier(pid, term) :: term
    def multiplier(customer, quarter) do
      receive do
        {{:block, rows}, {:block, columns}} ->
          send(
            customer,
            {quarter, {:block, for(row <- rows, do: for(column <- columns, do: dot(row, column, 0.0)))}}
          )

        {{a, b, c, d}, {e, f, g, h}} ->
          products = [{0, a, e}, {0, b, g}, {1, a, f}, {1, b, h}, {2, c, e}, {2, d, g}, {3, c, f}, {3, d, h}]

          for {place, left, right} <- products,
              do: send(spawn(__MODULE__, :multiplier, [self(), place]), {left, right})

          send(customer, {quarter, List.to_tuple(for place <- 0..3, do: add(product(place), product(place)))})
      end
    end

    defp product(place), do: receive(do: ({^place, product} -> product))

    defp dot([one | ones], [other | others], sum), do: dot(ones, others, sum + one * other)
    defp dot([], [], sum), do: sum

    defp add({:block, ones}, {:block, others}), do: {:block, Enum.zip_with(ones, others, &row/2)}
    defp add({a, b, c, d}, {e, f, g, h}), do: {add(a, e), add(b, f), add(c, g), add(d, h)}

    defp row([one | ones], [other | others]), do: [one + other | row(ones, others)]
    defp row([], []), do: []
  end

  # The numbers are those of i + j and i - j, modulo seven: so those of the product follow from remainders.
  @impl true
  def expected(n) do
    places = Enum.frequencies_by(0..(n - 1), &rem(&1, 7))

    products =
      for {row, rows} <- places, {column, columns} <- places, {k, times} <- places do
        rows * columns * times * left(row, k) * right(k, column)
      end

    Enum.sum(products)
  end

  @impl true
  def mote(machine, n) do
    pair =
      {tree(0, 0, n, &rows(&1, &2, fn row -> vector(row) end)),
       tree(0, 0, n, &columns(&1, &2, fn column -> vector(column) end))}

    multiplier = Mote.create(machine, Actors.multiplier(self(), :all))
    [run: asking(multiplier, pair, &total/1)]
  end

  @impl true
  def beam(n) do
    pair =
      {tree(0, 0, n, &rows(&1, &2, fn row -> row end)),
       tree(0, 0, n, &columns(&1, &2, fn column -> column end))}

    multiplier = spawn(Processes, :multiplier, [self(), :all])
    [run: asking(multiplier, pair, &total/1)]
  end

  defp tree(row, column, @block, block), do: {:block, block.(row, column)}

  defp tree(row, column, size, block) do
    half = div(size, 2)

    for down <- [0, half], right <- [0, half] do
      tree(row + down, column + right, half, block)
    end
    |> List.to_tuple()
  end

  defp rows(row, column, fun) do
    for i <- row..(row + @block - 1), do: fun.(for j <- column..(column + @block - 1), do: left(i, j) * 1.0)
  end

  defp columns(row, column, fun) do
    for j <- column..(column + @block - 1), do: fun.(for i <- row..(row + @block - 1), do: right(i, j) * 1.0)
  end

  defp left(i, j), do: rem(i + j, 7)
  defp right(i, j), do: Integer.mod(i - j, 7)
  defp vector(numbers), do: Mote.Vector.new(:f64, numbers)

  defp total({:all, product}), do: trunc(sum(product))
  defp sum({:block, rows}), do: Enum.sum(Enum.map(rows, &Enum.sum/1))
  defp sum(quarters), do: Enum.sum(Enum.map(Tuple.to_list(quarters), &sum/1))
end
