defmodule Mote.Total.Number do
  # The arithmetic of behaviours: 63-bit integers and finite floats. Returns `@none` where there is no answer;
  # `Mote.Total` turns that into `:undefined`. Integers outside the range are carried, never calculated with.
  @moduledoc false
  import Kernel, except: [abs: 1, round: 1, trunc: 1, floor: 1, ceil: 1]

  @none Mote.Total.None.value()
  @low -0x4000000000000000
  @high 0x3FFFFFFFFFFFFFFF

  defguardp is_fix(n) when is_integer(n) and n >= @low and n <= @high
  defguardp is_num(n) when is_float(n) or is_fix(n)

  def add(a, b) when is_fix(a) and is_fix(b), do: fit(a + b)
  def add(a, b) when is_num(a) and is_num(b), do: finite(fn -> a + b end)
  def add(_, _), do: @none

  def sub(a, b) when is_fix(a) and is_fix(b), do: fit(a - b)
  def sub(a, b) when is_num(a) and is_num(b), do: finite(fn -> a - b end)
  def sub(_, _), do: @none

  def mul(a, b) when is_fix(a) and is_fix(b), do: fit(a * b)
  def mul(a, b) when is_num(a) and is_num(b), do: finite(fn -> a * b end)
  def mul(_, _), do: @none

  # Both are made floats first, as the BEAM does with small integers.
  def fdiv(a, b) when is_num(a) and is_num(b), do: finite(fn -> :erlang.float(a) / b end)
  def fdiv(_, _), do: @none

  def idiv(a, b) when is_fix(a) and is_fix(b) and b != 0, do: fit(div(a, b))
  def idiv(_, _), do: @none

  def irem(a, b) when is_fix(a) and is_fix(b) and b != 0, do: rem(a, b)
  def irem(_, _), do: @none

  def neg(a) when is_fix(a), do: fit(-a)

  # By the sign bit: older releases of OTP make 0.0 of -(0.0).
  def neg(a) when is_float(a) do
    <<sign::1, rest::63>> = <<a::float>>
    <<negated::float>> = <<1 - sign::1, rest::63>>
    negated
  end

  def neg(_), do: @none

  def abs(a) when is_fix(a), do: fit(:erlang.abs(a))

  # Not :erlang.abs/1, whose result for -0.0 differs between OTP releases.
  def abs(a) when is_float(a) do
    <<_::1, rest::63>> = <<a::float>>
    <<positive::float>> = <<0::1, rest::63>>
    positive
  end

  def abs(_), do: @none

  def band(a, b) when is_fix(a) and is_fix(b), do: :erlang.band(a, b)
  def band(_, _), do: @none

  def bor(a, b) when is_fix(a) and is_fix(b), do: :erlang.bor(a, b)
  def bor(_, _), do: @none

  def bxor(a, b) when is_fix(a) and is_fix(b), do: :erlang.bxor(a, b)
  def bxor(_, _), do: @none

  def bnot(a) when is_fix(a), do: :erlang.bnot(a)
  def bnot(_), do: @none

  # The count is looked at first: the BEAM would really build an integer of a billion bits.
  def bsl(a, n) when is_fix(a) and is_fix(n) do
    cond do
      n < 0 -> bsr(a, min(-n, @high))
      a == 0 -> 0
      n > 62 -> @none
      true -> fit(:erlang.bsl(a, n))
    end
  end

  def bsl(_, _), do: @none

  def bsr(a, n) when is_fix(a) and is_fix(n) do
    cond do
      n < 0 -> bsl(a, min(-n, @high))
      n > 62 -> if(a < 0, do: -1, else: 0)
      true -> :erlang.bsr(a, n)
    end
  end

  def bsr(_, _), do: @none

  for name <- [:round, :trunc, :floor, :ceil] do
    def unquote(name)(a) when is_fix(a), do: a
    def unquote(name)(a) when is_float(a), do: fit(:erlang.unquote(name)(a))
    def unquote(name)(_), do: @none
  end

  for name <-
        [:sqrt, :exp, :log, :log2, :log10, :sin, :cos, :tan, :asin, :acos, :atan] ++
          [:sinh, :cosh, :tanh, :erf, :erfc] do
    def unquote(name)(a) when is_num(a), do: finite(fn -> :math.unquote(name)(a) end)
    def unquote(name)(_), do: @none
  end

  for name <- [:pow, :atan2] do
    def unquote(name)(a, b) when is_num(a) and is_num(b),
      do: finite(fn -> :math.unquote(name)(a, b) end)

    def unquote(name)(_, _), do: @none
  end

  def random, do: :rand.uniform()

  def random_int(n) when is_fix(n) and n > 0, do: :rand.uniform(n)
  def random_int(_), do: @none

  # What the turn was given, or the time since the start of the node, where a machine counts from its own: the BEAM's
  # monotonic time itself is negative.
  def now, do: Mote.Turn.Stage.now() || since_start()

  defp since_start do
    start = System.convert_time_unit(:erlang.system_info(:start_time), :native, :nanosecond)
    System.monotonic_time(:nanosecond) - start
  end

  defp fit(n) when is_fix(n), do: n
  defp fit(_), do: @none

  # The BEAM has no infinities and no NaN: it raises where a float operation would give one.
  defp finite(fun) do
    fun.()
  rescue
    ArithmeticError -> @none
  end
end
