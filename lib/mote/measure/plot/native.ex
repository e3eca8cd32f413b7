defmodule Mote.Measure.Plot.Native do
  # The function of native/mote_plot, and nothing else. The library is loaded with this module, which is when the first
  # plot is drawn. It is built only where plots are wanted: the machine needs none of it.
  @moduledoc false

  if Application.compile_env(:mote, :plots, false), do: use(Mote.Native.Library, crate: :mote_plot)

  def draw(_figure, _format), do: :erlang.nif_error(:nif_not_loaded)
end
