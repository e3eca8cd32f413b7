defmodule Kino.MixProject do
  use Mix.Project

  def project do
    [
      app: :kino,
      # The version of the real package whose interface this one follows.
      version: "0.14.0",
      elixir: "~> 1.14",
      deps: []
    ]
  end

  def application, do: [extra_applications: [:logger, :crypto], mod: {Kino.Application, []}]
end
