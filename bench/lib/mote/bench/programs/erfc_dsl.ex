defmodule Mote.Bench.Programs.ErfcDsl do
  # Arithmetic of floats within one turn: erfc by its continued fraction (Abramowitz and Stegun 7.1.14), n times, for
  # numbers between 2 and 6; as in native/mote_baseline/src/erfc.rs, operation by operation.
  @moduledoc false

  use Mote.Bench.Program,
    title: "erfc by its continued fraction, 60 parts of it, n times in one turn",
    param: :n,
    defaults: [10_000],
    small: 100,
    metric: :ns_per_erfc,
    expected: :plausible,
    processes: 1,
    rust: [rust: "erfc"]

  # Much less than the error of the fraction would be if it were cut off too early.
  @tolerance 1.0e-9

  defmodule Actors do
    use Mote.Behaviour

    @parts 60
    @sqrt_pi :math.sqrt(:math.pi())

    defpure sum(0, sum), do: sum
    defpure sum(n, sum), do: sum(n - 1, sum + erfc(2.0 + rem(n, 1024) / 256))

    defpure erfc(z), do: :math.exp(-(z * z)) / (@sqrt_pi * fraction(@parts, z, z))

    defpure fraction(0, _z, f), do: f
    defpure fraction(k, z, f), do: fraction(k - 1, z, z + k / 2 / f)

    defactor worker(customer) do
      n -> send customer, sum(n, 0.0)
    end
  end

  defmodule Processes do
    @parts 60
    @sqrt_pi :math.sqrt(:math.pi())

    @spec worker(pid) :: term
    def worker(customer) do
      receive do
        n -> send(customer, sum(n, 0.0))
      end
    end

    defp sum(0, sum), do: sum
    defp sum(n, sum), do: sum(n - 1, sum + erfc(2.0 + rem(n, 1024) / 256))

    defp erfc(z), do: :math.exp(-(z * z)) / (@sqrt_pi * fraction(@parts, z, z))

    defp fraction(0, _z, f), do: f
    defp fraction(k, z, f), do: fraction(k - 1, z, z + k / 2 / f)
  end

  @impl true
  def mote(machine, n) do
    worker = Mote.create(machine, Actors.worker(self()))
    right = reference(n)
    [run: asking(worker, n, &judge(&1, right))]
  end

  @impl true
  def beam(n) do
    worker = spawn(Processes, :worker, [self()])
    right = reference(n)
    [run: asking(worker, n, &judge(&1, right))]
  end

  @impl true
  def rust(sum, n), do: judge(sum, reference(n))

  defp reference(n), do: Enum.reduce(n..1//-1, 0.0, &(&2 + :math.erfc(2.0 + rem(&1, 1024) / 256)))

  defp judge(sum, right) do
    if is_float(sum) and abs(sum / right - 1.0) < @tolerance, do: :plausible, else: {:sum, sum, right}
  end
end
