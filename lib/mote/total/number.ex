defmodule Mote.Total.Number do
  # The arithmetic of behaviours: integers and finite floats. Returns `@none` where there is no answer; `Mote.Total` turns
  # that into `:undefined`. Integers that are more than one word in a machine are in integers.ex.
  @moduledoc false
  import Kernel, except: [abs: 1, round: 1, trunc: 1, floor: 1, ceil: 1]
  import Mote.Total.Integers, only: [is_fix: 1]

  alias Mote.Total.Integers

  @none Mote.Total.None.value()

  defguardp is_num(n) when is_float(n) or is_integer(n)

  # What two small ones make is not yet large.
  def add(a, b) when is_fix(a) and is_fix(b), do: a + b
  def add(a, b) when is_integer(a) and is_integer(b), do: Integers.linear(a, b, &+/2)
  def add(a, b), do: floats(a, b, &+/2)

  def sub(a, b) when is_fix(a) and is_fix(b), do: a - b
  def sub(a, b) when is_integer(a) and is_integer(b), do: Integers.linear(a, b, &-/2)
  def sub(a, b), do: floats(a, b, &-/2)

  def mul(a, b) when is_fix(a) and is_fix(b), do: a * b
  def mul(a, b) when is_integer(a) and is_integer(b), do: Integers.mul(a, b)
  def mul(a, b), do: floats(a, b, &*/2)

  # Both are made floats first, as the BEAM does with small integers.
  def fdiv(a, b), do: floats(a, b, &//2)

  def idiv(a, b) when is_fix(a) and is_fix(b) and b != 0, do: div(a, b)
  def idiv(a, b) when is_integer(a) and is_integer(b), do: Integers.divided(a, b, &div/2)
  def idiv(_, _), do: @none

  def irem(a, b) when is_fix(a) and is_fix(b) and b != 0, do: rem(a, b)
  def irem(a, b) when is_integer(a) and is_integer(b), do: Integers.divided(a, b, &rem/2)
  def irem(_, _), do: @none

  def neg(a) when is_integer(a), do: Integers.neg(a)

  # By the sign bit: older releases of OTP make 0.0 of -(0.0).
  def neg(a) when is_float(a) do
    <<sign::1, rest::63>> = <<a::float>>
    <<negated::float>> = <<1 - sign::1, rest::63>>
    negated
  end

  def neg(_), do: @none

  def abs(a) when is_integer(a), do: Integers.abs(a)

  # Not :erlang.abs/1, whose result for -0.0 differs between OTP releases.
  def abs(a) when is_float(a) do
    <<_::1, rest::63>> = <<a::float>>
    <<positive::float>> = <<0::1, rest::63>>
    positive
  end

  def abs(_), do: @none

  for name <- [:band, :bor, :bxor] do
    def unquote(name)(a, b) when is_fix(a) and is_fix(b), do: :erlang.unquote(name)(a, b)

    def unquote(name)(a, b) when is_integer(a) and is_integer(b),
      do: Integers.linear(a, b, &(:erlang.unquote(name) / 2))

    def unquote(name)(_, _), do: @none
  end

  def bnot(a) when is_fix(a), do: :erlang.bnot(a)
  def bnot(a), do: bxor(a, -1)

  def bsl(a, n) when is_integer(a) and is_integer(n), do: Integers.shift(a, n)
  def bsl(_, _), do: @none

  def bsr(a, n) when is_integer(a) and is_integer(n), do: Integers.shift(a, -n)
  def bsr(_, _), do: @none

  for name <- [:add64, :sub64, :mul64] do
    def unquote(name)(a, b) do
      if Integers.number?(a) and Integers.number?(b), do: Mote.Integer.unquote(name)(a, b), else: @none
    end
  end

  for name <- [:round, :trunc, :floor, :ceil] do
    def unquote(name)(a) when is_integer(a), do: if(Integers.number?(a), do: a, else: @none)
    def unquote(name)(a) when is_float(a), do: :erlang.unquote(name)(a)
    def unquote(name)(_), do: @none
  end

  for name <-
        [:sqrt, :exp, :log, :log2, :log10, :sin, :cos, :tan, :asin, :acos, :atan] ++
          [:sinh, :cosh, :tanh, :erf, :erfc] do
    def unquote(name)(a) do
      with x when is_float(x) <- float(a), do: finite(fn -> :math.unquote(name)(x) end)
    end
  end

  for name <- [:pow, :atan2, :fmod] do
    def unquote(name)(a, b), do: floats(a, b, &(:math.unquote(name) / 2))
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

  @doc "A number as a float; no answer for other terms, and for integers beyond all floats."
  def float(a) when is_float(a), do: a
  def float(a) when is_integer(a), do: if(Integers.number?(a), do: Integers.to_float(a), else: @none)
  def float(_), do: @none

  defp floats(a, b, fun) when is_num(a) and is_num(b) do
    with x when is_float(x) <- float(a), y when is_float(y) <- float(b), do: finite(fn -> fun.(x, y) end)
  end

  defp floats(_, _, _), do: @none

  # The BEAM has no infinities and no NaN: it raises where a float operation would give one.
  defp finite(fun) do
    fun.()
  rescue
    ArithmeticError -> @none
  end
end
