defmodule Broker.MixProject do
  use Mix.Project

  # In a project of your own the dependency is {:mote, "~> 0.1"}, and what is shared below goes away: here nothing is compiled
  # twice.
  def project do
    [
      app: :broker,
      version: "0.1.0",
      elixir: "~> 1.14",
      elixirc_paths: if(Mix.env() == :test, do: ["lib", "test/support"], else: ["lib"]),
      build_path: "../../_build",
      config_path: "../../config/config.exs",
      deps_path: "../../deps",
      lockfile: "../../mix.lock",
      deps: [{:mote, path: "../..", env: Mix.env()}]
    ]
  end
end
