defmodule Mote.Total.Integers do
  # Integers of any size: what the machine does with them beyond its small ones (native/mote_vm/src/terms/prim/integers.rs).
  # Returns `@none` where there is no answer: those of more than 2^20 bits are carried, never calculated with.
  #
  # What an operation takes is paid for before, by the limbs of 64 bits of its operands, as the machine does.
  @moduledoc false
  import Bitwise

  alias Mote.Total.Work

  @none Mote.Total.None.value()
  @low -0x4000000000000000
  @high 0x3FFFFFFFFFFFFFFF
  @most 16_384
  @limb 64
  # Elements that any operation costs; limbs for one element that are compared or copied, and of what is calculated with.
  @begun 80
  @linear 4
  @visited 2
  # Products of two limbs. With long factors a limb of the longer one meets at most a multiple of the root of the
  # shorter one's. A quotient, or the digits, take as long as that many products.
  @square 4
  @root 8
  @quotient 3

  @doc "Whether an integer is one word in a machine."
  defguard is_fix(n) when is_integer(n) and n >= @low and n <= @high

  # What 128 bits hold is calculated for nothing.
  defguardp is_wide(n)
            when n >= -0x80000000000000000000000000000000 and n < 0x80000000000000000000000000000000

  @doc "How many limbs of 64 bits an integer has."
  @spec limbs(integer) :: pos_integer
  def limbs(n) when is_fix(n), do: 1

  # Behind the version, a tag, the size in one byte or in four, and the sign.
  def limbs(n) do
    case :erlang.external_size(n) do
      size when size < 260 -> div(size - 4 + 7, 8)
      size -> div(size - 7 + 7, 8)
    end
  end

  @doc "Elements that it costs to go over an integer once: none if it is one word, or is not calculated with."
  @spec weight(term) :: non_neg_integer
  def weight(n) when is_integer(n) and not is_fix(n), do: n |> known() |> div(@linear)
  def weight(_), do: 0

  @doc "The same of two that are compared."
  @spec compared(term, term) :: non_neg_integer
  def compared(a, b), do: min(weight(a), weight(b))

  @doc "What each integer costs that is as long as the longest of these; nothing if one cannot be calculated with."
  @spec visit([integer]) :: non_neg_integer
  def visit(integers) do
    if Enum.all?(integers, &number?/1),
      do: 1 + (integers |> Enum.map(&limbs/1) |> Enum.max() |> div(@linear)),
      else: 0
  end

  @doc "What the remainder of the longest of some integers by another one costs; nothing if one cannot be calculated with."
  @spec remainder([integer], integer) :: non_neg_integer
  def remainder(integers, divisor) do
    if Enum.all?([divisor | integers], &number?/1) do
      {x, y} = {integers |> Enum.map(&limbs/1) |> Enum.max(), limbs(divisor)}
      visited(x + y) + quotient(x, y)
    else
      0
    end
  end

  defp known(n) do
    case limbs(n) do
      limbs when limbs > @most -> 0
      limbs -> limbs
    end
  end

  @doc "Whether it can be calculated with."
  @spec number?(term) :: boolean
  def number?(n), do: is_fix(n) or (is_integer(n) and limbs(n) <= @most)

  @doc "An operation of two integers that visits each limb once."
  def linear(a, b, fun),
    do: calculated(a, b, fn _, _ -> 0 end, fun)

  @doc "The product."
  def mul(a, b) do
    calculated(a, b, fn x, y -> if x + y - 1 <= @most, do: product(x, y) end, &*/2)
  end

  @doc "A quotient or a remainder."
  def divided(_, 0, _), do: @none

  def divided(a, b, fun), do: calculated(a, b, &quotient/2, fun)

  defp quotient(x, y), do: @quotient * product(max(x - y, 0) + 1, y)

  defp calculated(a, b, multiplied, fun) when is_wide(a) and is_wide(b) do
    case fun.(a, b) do
      n when is_wide(n) -> n
      _ -> paid(a, b, multiplied, fun)
    end
  end

  defp calculated(a, b, multiplied, fun), do: paid(a, b, multiplied, fun)

  defp paid(a, b, multiplied, fun) do
    {x, y} = {limbs(a), limbs(b)}

    with true <- x <= @most and y <= @most, elements when is_integer(elements) <- multiplied.(x, y) do
      Work.count(visited(x + y) + elements)
      fit(fun.(a, b))
    else
      _ -> @none
    end
  end

  defp visited(limbs), do: @begun + div(limbs, @visited)

  defp product(x, y) do
    {shorter, longer} = {min(x, y), max(x, y)}
    div(longer * min(shorter, @root * trunc(:math.sqrt(shorter))), @square)
  end

  @doc "The opposite."
  def neg(a), do: changed(a, &-/1)

  @doc "The absolute value."
  def abs(a) when a >= 0, do: if(number?(a), do: a, else: @none)
  def abs(a), do: changed(a, &-/1)

  defp changed(a, fun) do
    if number?(a) do
      Work.count(weight(a))
      fit(fun.(a))
    else
      @none
    end
  end

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

  defp shifted(a, n) when n <= 0 do
    Work.count(visited(limbs(a)))
    if -n > @most * @limb, do: if(a < 0, do: -1, else: 0), else: a >>> -n
  end

  defp shifted(a, n) do
    limbs = limbs(a) + div(n, @limb)

    if limbs <= @most do
      Work.count(visited(limbs))
      fit(a <<< n)
    else
      @none
    end
  end

  @doc "The decimal digits."
  def text(n) when is_wide(n), do: Integer.to_string(n)

  def text(n) do
    if number?(n) do
      limbs = limbs(n)
      Work.count(visited(limbs) + @quotient * product(limbs, limbs))
      Integer.to_string(n)
    else
      @none
    end
  end

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
