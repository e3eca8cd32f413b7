defmodule Cluster.MixProject do
  use Mix.Project

  # In a project of your own the dependency is {:mote, "~> 0.1"}, and what is shared below goes away: here nothing is compiled
  # twice.
  def project do
    [
      app: :cluster,
      version: "0.1.0",
      elixir: "~> 1.14",
      build_path: "../../_build",
      config_path: "../../config/config.exs",
      deps_path: "../../deps",
      lockfile: "../../mix.lock",
      deps: [{:mote, path: "../..", env: Mix.env()}]
    ]
  end

  # Each node that runs the application takes part.
  def application, do: [mod: {Cluster, []}]
end
