defmodule Rustler.MixProject do
  use Mix.Project

  def project do
    [
      app: :rustler,
      # The version of the real package whose interface this one follows.
      version: "0.36.0",
      elixir: "~> 1.14",
      deps: []
    ]
  end

  def application do
    []
  end
end
