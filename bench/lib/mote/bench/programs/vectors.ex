defmodule Mote.Bench.Programs.Vectors do
  # The dot product of two vectors of 1,000 floats, n times in one turn: as in native/mote_baseline/src/dot.rs, and on
  # the BEAM over the same bytes, for which it has nothing better.
  @moduledoc false

  use Mote.Bench.Program,
    title: "the dot product of two vectors of 1,000 floats, n times in one turn",
    param: :n,
    defaults: [10_000],
    small: 10,
    metric: :ns_per_dot,
    expected: :plausible,
    processes: 1,
    rust: [rust: "dot"]

  @size 1_000
  @tolerance 1.0e-9

  defmodule Actors do
    use Mote.Behaviour

    defactor worker(x, y) do
      {customer, n} -> send customer, dots(x, y, n, 0.0)
    end

    defpure dots(_, _, 0, sum), do: sum
    defpure dots(x, y, n, sum), do: dots(x, y, n - 1, sum + Mote.Vector.dot(x, y))
  end

  defmodule Processes do
    @spec worker(binary, binary) :: term
    def worker(x, y) do
      receive do
        {customer, n} -> send(customer, dots(x, y, n, 0.0))
      end

      worker(x, y)
    end

    defp dots(_, _, 0, sum), do: sum
    defp dots(x, y, n, sum), do: dots(x, y, n - 1, sum + dot(x, y, 0.0))

    defp dot(<<a::float-little, x::binary>>, <<b::float-little, y::binary>>, sum), do: dot(x, y, sum + a * b)
    defp dot(<<>>, <<>>, sum), do: sum
  end

  @impl true
  def mote(machine, n) do
    {x, y} = vectors()
    worker = Mote.create(machine, Actors.worker(x, y))
    [run: asking(worker, {self(), n}, &judge(&1, n))]
  end

  @impl true
  def beam(n) do
    {x, y} = vectors()
    worker = spawn(Processes, :worker, [x.binary, y.binary])
    [run: asking(worker, {self(), n}, &judge(&1, n))]
  end

  @impl true
  def rust(sum, n), do: judge(sum, n)

  defp vectors do
    {Mote.Vector.new(:f64, for(i <- 1..@size, do: 1 / i)),
     Mote.Vector.new(:f64, for(i <- 1..@size, do: i / 2))}
  end

  # Every product is a half.
  defp judge(sum, n) do
    right = n * @size / 2
    if is_float(sum) and abs(sum / right - 1.0) < @tolerance, do: :plausible, else: {:sum, sum, right}
  end
end
