defmodule Mote.Bench.Plot do
  # How the report measures and draws a program: what `plot:` in `use Mote.Bench.Program` says. It draws nothing.
  #
  #     plot: [sizes: 5..16, full: 5..24, over: :count, x: :log2]
  #
  # All of it is optional; without any a program is measured with its `:defaults` and drawn over them.
  #
  #   * `:sizes`: those that `mix mote.report` measures (`:defaults`): all together should be done in some ten seconds;
  #   * `:full`: those of `mix mote.report --full` (`:sizes` and `:defaults`);
  #   * `:metric`: the figure to draw (that of the program);
  #   * `:over`: what the x axis is, the `:size` or what `count/1` makes of it (`:count`);
  #   * `:x`, `:y`: their scales, `:linear`, `:log` (base ten) or `:log2`. Without it x is `:log` for `:n` and `:linear`
  #     for `:depth`; y is `:log` for lines and `:linear` else;
  #   * `:kind`: `:lines` over the sizes, with a line for each variant; `:bars`, one for each variant and size; or
  #     `:histogram` of all runs of the greatest size. Without it lines if there are several sizes, and bars else;
  #   * `:variants`: those to draw (all that were measured).
  @moduledoc false

  @scales [:linear, :log, :log2]
  @kinds [:lines, :bars, :histogram]
  @overs [:size, :count]

  @optional [:sizes, :full, :metric, :x, :y, :kind, :variants, over: :size]

  @enforce_keys [:sizes, :full, :metric, :over, :x, :y, :kind, :variants]
  defstruct [:sizes, :full, :metric, :over, :x, :y, :kind, :variants]

  @type scale :: :linear | :log | :log2

  @type t :: %__MODULE__{
          sizes: [pos_integer, ...],
          full: [pos_integer, ...],
          metric: atom,
          over: :size | :count,
          x: scale,
          y: scale,
          kind: :lines | :bars | :histogram,
          variants: [atom] | nil
        }

  @doc "Checks what a program says and completes it."
  @spec new(keyword, %{:param => atom, :defaults => [pos_integer], :metric => atom, optional(atom) => term}) ::
          t
  def new(given, %{param: param, defaults: defaults, metric: metric}) do
    given = Keyword.validate!(given, @optional)
    sizes = sizes!(:sizes, given[:sizes] || defaults)
    full = sizes!(:full, given[:full] || Enum.sort(Enum.uniq(sizes ++ defaults)))
    kind = one!(:kind, given[:kind] || if(length(sizes) > 1, do: :lines, else: :bars), @kinds)

    %__MODULE__{
      sizes: sizes,
      full: full,
      metric: given[:metric] || metric,
      over: one!(:over, given[:over], @overs),
      x: one!(:x, given[:x] || if(param == :n, do: :log, else: :linear), @scales),
      y: one!(:y, given[:y] || if(kind == :lines, do: :log, else: :linear), @scales),
      kind: kind,
      variants: given[:variants]
    }
  end

  defp sizes!(key, sizes) do
    sizes = Enum.to_list(sizes)

    if sizes == [] or not Enum.all?(sizes, &(is_integer(&1) and &1 > 0)) do
      raise ArgumentError, "plot: #{key}: must be sizes, positive integers, got: #{inspect(sizes)}"
    end

    sizes
  end

  defp one!(key, value, allowed) do
    if value not in allowed do
      raise ArgumentError, "plot: #{key}: must be one of #{inspect(allowed)}, got: #{inspect(value)}"
    end

    value
  end
end
