cd Alerts
