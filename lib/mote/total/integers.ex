defmodule Mote.Total.Integers do
  # Integers of any size: what the machine does with them beyond its small ones (native/mote_vm/src/terms/prim/integers.rs).
  # Returns `@none` where there is no answer: those of more than 2^20 bits are carried, never calculated with.
  @moduledoc false
  import Bitwise

  @none Mote.Total.None.value()
  @low -0x4000000000000000
  @high 0x3FFFFFFFFFFFFFFF
  @most 16_384
  @limb 64

  @doc "Returns whether an integer is one word in a machine."
  defguard is_fix(n) when is_integer(n) and n >= @low and n <= @high

  # What 128 bits hold has an answer.
  defguardp is_wide(n)
            when n >= -0x80000000000000000000000000000000 and n < 0x80000000000000000000000000000000

  @doc "Returns how many limbs of 64 bits an integer has."
  @spec limbs(integer) :: pos_integer
  def limbs(n) when is_fix(n), do: 1

  # Behind the version, a tag, the size in one byte or in four, and the sign.
  def limbs(n) do
    case :erlang.external_size(n) do
      size when size < 260 -> div(size - 4 + 7, 8)
      size -> div(size - 7 + 7, 8)
    end
  end

  @doc "Returns whether it can be calculated with."
  @spec number?(term) :: boolean
  def number?(n), do: is_fix(n) or (is_integer(n) and limbs(n) <= @most)

  @doc "An operation of two integers."
  def linear(a, b, fun), do: if(number?(a) and number?(b), do: fit(fun.(a, b)), else: @none)

  @doc "The product. Whether it would be too long is looked at first."
  def mul(a, b) do
    if number?(a) and number?(b) and limbs(a) + limbs(b) - 1 <= @most, do: fit(a * b), else: @none
  end

  @doc "A quotient or a remainder."
  def divided(_, 0, _), do: @none
  def divided(a, b, fun), do: linear(a, b, fun)

  @doc "The opposite."
  def neg(a), do: changed(a, &-/1)

  @doc "The absolute value."
  def abs(a) when a >= 0, do: if(number?(a), do: a, else: @none)
  def abs(a), do: changed(a, &-/1)

  defp changed(a, fun), do: if(number?(a), do: fit(fun.(a)), else: @none)

  @doc "To the left, or to the right if the count is negative. It is looked at first: the BEAM would build the integer."
  def shift(0, n), do: if(number?(n), do: 0, else: @none)
  def shift(a, n) when is_wide(a) and n < 0, do: if(number?(n), do: a >>> min(-n, 127), else: @none)

  def shift(a, n) when is_wide(a) and n < 128 do
    case a <<< n do
      shifted when is_wide(shifted) -> shifted
      _ -> shifted(a, n)
    end
  end

  def shift(a, n), do: if(number?(a) and number?(n), do: shifted(a, n), else: @none)

  defp shifted(a, n) when n <= 0,
    do: if(-n > @most * @limb, do: if(a < 0, do: -1, else: 0), else: a >>> -n)

  defp shifted(a, n), do: if(limbs(a) + div(n, @limb) <= @most, do: fit(a <<< n), else: @none)

  @doc "The decimal digits."
  def text(n), do: if(number?(n), do: Integer.to_string(n), else: @none)

  @doc "The nearest float, the even one of two that are equally near; releases of OTP differ in that."
  def to_float(n) when n > -0x10000000000000000 and n < 0x10000000000000000, do: :erlang.float(n)
  def to_float(n) when n < 0, do: negated(to_float(-n))

  def to_float(n) do
    # Of a number that is too large by far the highest bits alone are, too.
    drop = (limbs(n) - 2) * @limb
    if drop > 1024, do: @none, else: rounded(n >>> drop, drop, (n &&& (1 <<< drop) - 1) != 0)
  end

  defp negated(f) when is_float(f), do: -f
  defp negated(none), do: none

  # At least 65 bits, of which 53 stay; and whether there are others below.
  defp rounded(high, drop, below) do
    over = bits(high >>> 53, 0)
    {kept, rest} = {high >>> over, high &&& (1 <<< over) - 1}
    half = 1 <<< (over - 1)
    up = rest > half or (rest == half and (below or (kept &&& 1) == 1))
    :erlang.float(if(up, do: kept + 1, else: kept)) * :math.pow(2.0, over + drop)
  rescue
    ArithmeticError -> @none
  end

  defp bits(0, n), do: n
  defp bits(high, n), do: bits(high >>> 1, n + 1)

  defp fit(n), do: if(number?(n), do: n, else: @none)
end
