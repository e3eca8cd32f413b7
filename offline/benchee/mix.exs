defmodule Benchee.MixProject do
  use Mix.Project

  def project do
    [
      app: :benchee,
      # The version of the real package whose interface this one follows.
      version: "1.0.0",
      elixir: "~> 1.14",
      deps: []
    ]
  end

  def application do
    []
  end
end
