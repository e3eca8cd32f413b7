defmodule Mote.Prelude.Math do
  # Functions of :math that are not primitives. All of them are exact.
  @moduledoc false
  use Mote.Behaviour

  alias Mote.Prelude.Float, as: Fraction

  defpure ceiled(n) when is_number(n), do: Fraction.ceiled(n * 1.0)
  defpure floored(n) when is_number(n), do: Fraction.floored(n * 1.0)

  # The remainder has the sign of the dividend.
  defpure fmod(a, b) when is_number(a) and is_number(b) and b != 0 do
    {a, b} = {a * 1.0, abs(b * 1.0)}

    cond do
      abs(a) < b -> a
      a < 0 -> -reduced(-a, b)
      true -> reduced(a, b)
    end
  end

  # Less `b` as often as it fits: first less its multiples by powers of two, the largest first. Nothing is rounded.
  defpure reduced(a, b) do
    a = if b <= a - b, do: reduced(a, b + b), else: a
    if a >= b, do: a - b, else: a
  end
end
