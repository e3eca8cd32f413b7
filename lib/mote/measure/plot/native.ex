defmodule Mote.Measure.Plot.Native do
  # The function of native/mote_plot, and nothing else. The library is loaded with this module, which is when the first
  # plot is drawn.
  @moduledoc false

  use Rustler, otp_app: :mote, crate: :mote_plot, path: "native/mote_plot"

  def draw(_figure, _format), do: :erlang.nif_error(:nif_not_loaded)
end
