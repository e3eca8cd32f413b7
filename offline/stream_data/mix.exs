defmodule StreamData.MixProject do
  use Mix.Project

  def project do
    [
      app: :stream_data,
      # The version of the real package whose interface this one follows.
      version: "1.0.0",
      elixir: "~> 1.14",
      deps: []
    ]
  end

  def application do
    [extra_applications: [:ex_unit]]
  end
end
